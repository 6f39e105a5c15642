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
