import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { position } from '../../../src/base/position.js'
import { nodeDisk } from '../../../src/disk/node-disk.js'
import { openQueue } from '../../../src/index.js'
import { snapshotAt, type Past } from '../../../src/inspect/records/past-snapshot.js'
import { QueueDirectory } from '../../../src/inspect/queue/queue-directory.js'
import { takeSnapshot } from '../../../src/inspect/queue/snapshot.js'
import { frameBytes } from '../../../src/record/frame.js'

/** Where the journal's first segment begins. */
const first = 4096

async function pastAt(root: string, at: number): Promise<Past> {
  const disk = nodeDisk(root)
  onTestFinished(() => disk.abandon())
  const directory = (await QueueDirectory.open(disk, () => undefined))!
  return snapshotAt(directory, await takeSnapshot(directory), position(at))
}

test('before its first lanes a queue was empty, whatever lies in them now', async () => {
  const root = mkdtempSync(join(tmpdir(), 'waybill-past-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const queue = await openQueue(root, {
    transports: { no: { deliver: () => ({ kind: 'deferred', status: '4.2.1', reason: 'not now' }) } },
    route: () => ({ transport: 'no', nexthop: 'example.net' }),
    segmentBytes: 2 ** 20,
  })
  onTestFinished(() => queue.crash())
  await queue.submit({ sender: 's@example.org', recipients: ['r@example.net'], data: 'x\r\n' })
  await queue.idle()
  await queue.hold({ all: true })
  queue.crash()
  const made = await pastAt(root, first + frameBytes(64))
  expect(made.kind === 'snapshot' && made.snapshot.lanes.map(({ lane }) => lane)).toEqual([0])
  const now = (await takeSnapshot((await QueueDirectory.open(nodeDisk(root), () => undefined))!)).lanes
  expect(now.length).toBeGreaterThan(5)
})

test('where a segment begins the queue is what the segment before it says', async () => {
  const root = mkdtempSync(join(tmpdir(), 'waybill-past-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const segmentBytes = 2 ** 20
  const queue = await openQueue(root, {
    transports: { no: { deliver: () => new Promise(() => undefined) } },
    route: () => ({ transport: 'no', nexthop: 'example.net' }),
    segmentBytes,
  })
  onTestFinished(() => queue.crash())
  const data = 'x\r\n'.repeat(40_000)
  for (let n = 0; n < 12; n++)
    await queue.submit({ sender: 's@example.org', recipients: ['r@example.net'], data })
  queue.crash()
  const begin = await pastAt(root, segmentBytes + first)
  const behind = await pastAt(root, segmentBytes + first + frameBytes(400))
  const countOf = (past: Past): number => (past.kind === 'snapshot' ? past.snapshot.working.length : -1)
  expect(countOf(begin)).toBeGreaterThan(5)
  expect(countOf(begin)).toBe(countOf(behind))
})

test('a position that is on disk without a checkpoint before it is told from one that is not', async () => {
  const root = mkdtempSync(join(tmpdir(), 'waybill-past-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const queue = await openQueue(root, {
    transports: { no: { deliver: () => ({ kind: 'delivered' }) } },
    route: () => ({ transport: 'no', nexthop: 'example.net' }),
    segmentBytes: 2 ** 20,
  })
  await queue.submit({ sender: 's@example.org', recipients: ['r@example.net'], data: 'x\r\n' })
  queue.crash()
  const reasonAt = async (at: number): Promise<string> => {
    const past = await pastAt(root, at)
    return past.kind === 'gone' ? past.reason : past.kind
  }
  expect(await reasonAt(first)).toMatch(`a checkpoint before position ${first} is not on disk`)
  expect(await reasonAt(first - 1)).toMatch(`: the journal reaches from ${first} to `)
  expect(await reasonAt(2 ** 30)).toMatch(/^position 1073741824 is not on disk/)
})
