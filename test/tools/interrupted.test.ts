/** Ctrl-C, in commands that have nothing to finish. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { waybillPath } from '../end-to-end/relay-process.js'
import { runWaybill } from './command-process.js'

let directory: string
let child: ChildProcess | undefined
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'waybill-interrupted-'))
  const size = ['--segment-size', '1M', '--lane-segment-size', '1M']
  await runWaybill(['fill', '--queue', 'queue', '--count', '3000', ...size], { directory })
})
afterEach(() => child?.kill('SIGKILL'))
afterAll(() => rm(directory, { recursive: true, force: true }))

/** Its output is more than a pipe holds, and nobody reads on. */
async function begun(args: readonly string[]): Promise<ChildProcess> {
  child = spawn(process.execPath, [waybillPath, ...args, '--queue', 'queue'], {
    cwd: directory,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout!, 'readable')
  return child
}

test.each(['mailq', 'log dump --log all', 'hold --all --dry-run'])(
  'an interrupt ends %s at once, as it ends any program',
  async (words) => {
    const interrupted = await begun(words.split(' '))
    const ended = once(interrupted, 'exit')
    interrupted.kill('SIGINT')
    expect(await ended).toEqual([null, 'SIGINT'])
  },
)
