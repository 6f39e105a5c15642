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

/** With standard output closed by its reader. */
async function unheard(
  args: readonly string[],
): Promise<{ readonly exitCode: number | null; readonly stderr: string }> {
  child = spawn(process.execPath, [waybillPath, ...args], {
    cwd: directory,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  child.stdout!.destroy()
  let stderr = ''
  child.stderr!.on('data', (text: Buffer) => (stderr += text.toString()))
  const [exitCode] = (await once(child, 'close')) as [number | null]
  return { exitCode, stderr }
}

test('a verb whose reader goes away between two ids says that the others were left', async () => {
  const { stdout } = await runWaybill(['mailq', '--queue', 'queue', '--json', '--limit', '3'], { directory })
  const ids = Array.from(stdout.matchAll(/"queue_id":"([^"]+)"/g), ([, id]) => id!)
  const { exitCode, stderr } = await unheard(['hold', '--queue', 'queue', ...ids])
  expect([exitCode, stderr]).toEqual([1, 'waybill hold: stopped: 2 messages left as they were\n'])
  const held = await runWaybill(['mailq', '--queue', 'queue', '--json', '--lane', 'hold'], { directory })
  expect(held.stdout.trim().split('\n')).toHaveLength(1)
})

test('an id that is not there is a failure, also when nobody reads on', async () => {
  const { exitCode } = await unheard(['delete', '--queue', 'queue', '--json', '1KE70EHG0VP3VPK4'])
  expect(exitCode).toBe(1)
})

test('a queue that was made is made, also when nobody reads on', async () => {
  expect(await unheard(['fill', '--queue', 'other', '--count', '1'])).toEqual({ exitCode: 0, stderr: '' })
})
