import { expect, test } from 'vitest'
import { formatVersion } from '../../src/log/segment.js'
import { readQueueHeader, writeQueueHeader, type QueueHeader } from '../../src/directory/header.js'
import type { Disk } from '../../src/disk/disk.js'
import { SimDisk } from '../../src/sim/disk/sim-disk.js'
import { SimWorld } from '../../src/sim/world/world.js'
import { write } from '../disk/fixture.js'

const header: QueueHeader = { format: 1, segmentBytes: 65_536, laneSegmentBytes: 32_768 }

async function on<T>(body: (disk: Disk) => Promise<T>): Promise<T> {
  const world = new SimWorld({ seed: 0, order: 'fifo' })
  return world.settle(body(new SimDisk(world)))
}

const readAfter = (
  files: Readonly<Record<string, string>>,
  directories: readonly string[] = [],
): Promise<unknown> =>
  on(async (disk) => {
    for (const directory of directories) await disk.makeDirectory(directory)
    for (const [path, text] of Object.entries(files)) await write(disk, path, Buffer.from(text))
    return readQueueHeader(disk)
  })

test('a header that was written is read back, whatever was left of an earlier try', async () => {
  const read = await on(async (disk) => {
    await write(disk, 'queue.json.new', Buffer.from('{"for'))
    await writeQueueHeader(disk, header, await disk.list(''))
    return readQueueHeader(disk)
  })
  expect(read).toEqual(header)
})

test('after a crash at any call of the writing, the header is whole or not there', async () => {
  const world = new SimWorld({ seed: 2 })
  const found: unknown[] = []
  const disk: SimDisk = new SimDisk(world, {
    observer: { before: () => states.push(...disk.crashStates(), ...disk.killStates()) },
  })
  const states: { readonly image: SimDisk['image'] }[] = []
  await world.settle(writeQueueHeader(disk, header, []))
  for (const { image } of states) {
    const next = new SimWorld({ seed: 0, order: 'fifo' })
    found.push(await next.settle(readQueueHeader(new SimDisk(next, { image }))))
  }
  expect(new Set(found.map((read) => JSON.stringify(read)))).toEqual(
    new Set([undefined, JSON.stringify(header)]),
  )
})

test('an empty directory, and one whose making was cut short, hold no queue yet', async () => {
  expect(await readAfter({})).toBeUndefined()
  expect(await readAfter({ lock: '', 'queue.json.new': '{' }, ['journal', 'spool'])).toBeUndefined()
})

test.each([
  ['another file', { 'notes.txt': 'x' }, [], 'NOT_A_QUEUE'],
  ['segments without a header', { 'journal/000000000000.log': 'x' }, ['journal'], 'NOT_A_QUEUE'],
  ['a header that is not JSON', { 'queue.json': 'no' }, [], 'NOT_A_QUEUE'],
  ['a header that is null', { 'queue.json': 'null' }, [], 'NOT_A_QUEUE'],
  ['a header without sizes', { 'queue.json': '{"format":1}' }, [], 'NOT_A_QUEUE'],
  ['a newer format', { 'queue.json': `{"format":${formatVersion + 1}}` }, [], 'FORMAT_NEWER'],
  ['a header of nothing', { 'queue.json': '' }, [], 'NOT_A_QUEUE'],
])('a directory with %s is refused', async (_, files, directories, code) => {
  await expect(readAfter(files as Record<string, string>, directories)).rejects.toMatchObject({ code })
})
