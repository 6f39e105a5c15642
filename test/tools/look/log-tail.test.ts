import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openQueue, type Queue, type QueueOptions } from '../../../src/index.js'
import { waybillPath } from '../../end-to-end/relay-process.js'
import { runWaybill } from '../command-process.js'

const acceptOnly: QueueOptions = {
  transports: {},
  route: () => ({ transport: 'none', nexthop: 'none' }),
  deliver: false,
  segmentBytes: 64 * 1024,
  laneSegmentBytes: 64 * 1024,
}

let directory: string
let queue: Queue
let tail: ChildProcess | undefined
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'waybill-tail-'))
  queue = await openQueue(directory, acceptOnly)
})
afterEach(async () => {
  tail?.kill('SIGKILL')
  queue.crash()
  await rm(directory, { recursive: true, force: true })
})

/** What it has printed so far. */
function follow(...args: string[]): () => string {
  tail = spawn(process.execPath, [waybillPath, 'log', 'tail', '-f', '--queue', directory, ...args])
  let text = ''
  for (const stream of [tail.stdout!, tail.stderr!])
    stream.on('data', (piece: Buffer) => (text += piece.toString()))
  return () => text
}

const submit = async (bytes = 100): Promise<string> =>
  (
    await queue.submit({
      sender: 'a@from.example',
      recipients: ['b@to.example'],
      data: Buffer.alloc(bytes, 'a line\r\n'),
    })
  ).id

test('log tail -f shows mail as it is accepted, over segments, each once, and ends with 130 when it is interrupted', async () => {
  const first = await submit()
  const printed = follow('--json', '--kind', 'envelope')
  await expect.poll(printed).toContain(first)
  const ids = [first]
  for (let i = 0; i < 30; i++) ids.push(await submit(5000))
  await expect.poll(printed).toContain(ids.at(-1))
  const closed = once(tail!, 'close')
  tail!.kill('SIGINT')
  expect(await closed).toEqual([130, null])
  const lines = printed().trim().split('\n')
  expect(lines.map((line) => (JSON.parse(line) as { record: { id: string } }).record.id)).toEqual(ids)
})

test('log tail -f tells damage when it is met, and once', async () => {
  await submit()
  const printed = follow('--kind', 'envelope')
  await expect.poll(printed).toContain('envelope')
  await writeFile(join(directory, 'journal', '0000000000ff.log'), '')
  await expect.poll(printed).toContain('damage: journal, segment 255')
  for (let i = 0; i < 3; i++) {
    const id = await submit()
    await expect.poll(printed).toContain(id)
  }
  const closed = once(tail!, 'close')
  tail!.kill('SIGINT')
  expect(await closed).toEqual([130, null])
  expect(printed().match(/damage: journal, segment 255/g)).toHaveLength(1)
})

test('log tail -f ends quietly when nobody reads on', async () => {
  follow()
  await once(tail!.stdout!, 'data')
  const closed = once(tail!, 'exit')
  tail!.stdout!.destroy()
  let complaints = ''
  tail!.stderr!.on('data', (piece: Buffer) => (complaints += piece.toString()))
  const submitted: Promise<string>[] = []
  const submitting = setInterval(() => submitted.push(submit()), 100)
  const [exitCode] = (await closed) as [number | null]
  clearInterval(submitting)
  await Promise.all(submitted)
  expect([exitCode, complaints]).toEqual([0, ''])
})

test.each([
  ['log tail -n 30', ['log', 'tail', '-n', '30']],
  ['log dump --to', ['log', 'dump', '--to', '60000']],
])('%s finds nothing wrong with segments that lives left before they were full', async (_, words) => {
  for (let life = 0; life < 3; life++) {
    await submit()
    queue.crash()
    queue = await openQueue(directory, acceptOnly)
  }
  const said = await runWaybill([...words, '--queue', directory], { directory })
  expect(said).toMatchObject({ exitCode: 0, stderr: '' })
  expect(said.stdout).toContain('envelope')
})
