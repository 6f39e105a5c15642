/** The relay whose output nobody can take: on a full disk, or behind a pipe whose reader has
 * gone. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync, closeSync } from 'node:fs'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { waybillPath } from '../../end-to-end/relay-process.js'
import { runWaybill } from '../command-process.js'
import { temporaryDirectory } from '../../temporary-directory.js'

test.each(['stdout', 'stderr'])(
  'a relay whose %s is on a full disk takes mail, and ends when it is told to',
  async (name) => {
    const directory = await temporaryDirectory('full')
    const full = openSync('/dev/full', 'w')
    const args = ['serve', '--queue', 'queue', '--maildir', 'maildir', '--listen', '127.0.0.1:0']
    const relay = spawn(process.execPath, [waybillPath, ...args], {
      cwd: directory,
      stdio: ['ignore', name === 'stdout' ? full : 'ignore', name === 'stderr' ? full : 'ignore'],
    })
    onTestFinished(() => void relay.kill('SIGKILL'))
    closeSync(full)
    const exited = once(relay, 'exit')
    const isListening = (): Promise<boolean> =>
      access(join(directory, 'queue/listening')).then(
        () => true,
        () => false,
      )
    await expect.poll(isListening).toBe(true)
    for (let i = 0; i < 2; i++)
      expect(
        await runWaybill(['sendmail', '-v', '--queue', 'queue', 'a@example.org'], {
          directory,
          input: 'x\n',
        }),
      ).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('taken by') as string })
    relay.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
  },
)
