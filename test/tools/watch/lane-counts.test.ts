/** How many messages wait in each lane, counted beside the relay. */
import { expect, onTestFinished, test } from 'vitest'
import { nodeDisk } from '../../../src/disk/node-disk.js'
import { fixedRetry, openQueue } from '../../../src/index.js'
import { InspectedQueue } from '../../../tools/commands/operate/inspected-queue.js'
import { LaneCounter } from '../../../tools/commands/watch/lane-counts.js'
import { stat } from '../../../tools/commands/look/stat.js'
import { command } from '../../inspect/commanded.js'
import { temporaryDirectory } from '../../temporary-directory.js'

test('a message that has just been deferred is counted in the lane that it waits in', async () => {
  const directory = await temporaryDirectory('lane-counts')
  const queue = await openQueue(directory, {
    transports: { out: { deliver: () => ({ kind: 'deferred', status: '4.2.2', reason: 'full' }) } },
    route: () => ({ transport: 'out', nexthop: 'example.net' }),
    retry: fixedRetry([3_600_000]),
    checkpointIntervalMs: 3_600_000,
    segmentBytes: 2 ** 20,
  })
  onTestFinished(() => queue.crash())
  const data = 'Subject: x\r\n\r\nx\r\n'
  const submission = { sender: 'ada@example.org', recipients: ['bob@example.net'], data }
  const deferral = new Promise((resolve) => queue.once('deferred', resolve))
  await queue.submit(submission)
  await deferral
  await expect.poll(() => queue.stats().activeCount).toBe(0)
  // What became of the first is in the journal with the second, and the lane is not trusted yet.
  await queue.submit(submission)
  const deferred = async (): Promise<number> => {
    const inspected = new InspectedQueue(nodeDisk(directory), Date.now)
    let count = 0
    for await (const _ of inspected.list({ lane: 'deferred' })) count++
    inspected.close()
    return count
  }
  await expect.poll(deferred, { interval: 5 }).toBe(1)
  const { stdout } = await command(stat, ['--queue', directory, '--json'], nodeDisk, Date.now())
  const rows = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  expect(rows.find(({ lane }) => lane === 2)).toMatchObject({ queue_name: 'deferred', messages: 1 })
  const counter = new LaneCounter()
  const stop = new AbortController()
  const ended = counter.run(directory, { openDisk: nodeDisk, nowMs: Date.now }, stop.signal)
  await expect.poll(() => counter.latest, { interval: 5 }).toBeDefined()
  stop.abort()
  await ended
  expect(counter.latest!.byLane.get(2)).toEqual({ count: 1, dataBytes: data.length })
})
