/** A listing that cannot show all says so at its end. */
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import type { Disk } from '../../../src/disk/disk.js'
import { nodeDisk } from '../../../src/disk/node-disk.js'
import { WaybillError } from '../../../src/errors.js'
import { fixedRetry, openQueue, type Queue, type Selector } from '../../../src/index.js'
import { temporaryDirectory } from '../../temporary-directory.js'

/** The same, except for `instead`. */
function replaced<T extends object>(original: T, instead: Partial<T>): T {
  return new Proxy(original, {
    get: (target, name) => {
      const member: unknown = Reflect.get(instead, name) ?? Reflect.get(target, name)
      return typeof member === 'function' ? (member.bind(target) as unknown) : member
    },
  })
}

/** While the gate is closed nothing of a lane is synced. */
function gated(disk: Disk, gate: { readonly opened: () => Promise<void> }): Disk {
  return replaced(disk, {
    open: async (path, mode) => {
      const file = await disk.open(path, mode)
      if (!path.startsWith('lanes/')) return file
      return replaced(file, { sync: () => gate.opened().then(() => file.sync()) })
    },
  })
}

async function listed(queue: Queue, selector?: Selector): Promise<{ ids: string[]; error: unknown }> {
  const ids: string[] = []
  try {
    for await (const { id } of queue.list(selector)) ids.push(id)
    return { ids, error: undefined }
  } catch (error) {
    return { ids, error }
  }
}

test('what no checkpoint makes trusted in time is missing, and the listing ends with an error that says so', async () => {
  const directory = await temporaryDirectory('listing')
  let opened = Promise.resolve()
  let isClosed = false
  const queue = await openQueue(directory, {
    disk: gated(nodeDisk(directory), { opened: () => opened }),
    // Nobody waits for ten seconds.
    clock: replaced(systemClock, {
      after: (ms, callback) => systemClock.after(ms === 10_000 && isClosed ? 100 : ms, callback),
    }),
    transports: { out: { deliver: () => ({ kind: 'deferred', status: '4.2.2', reason: 'full' }) } },
    route: () => ({ transport: 'out', nexthop: 'example.net' }),
    retry: fixedRetry([3_600_000]),
    checkpointIntervalMs: 3_600_000,
    segmentBytes: 2 ** 20,
  })
  onTestFinished(() => queue.crash())
  const deferred = async (): Promise<string> => {
    const deferral = new Promise((resolve) => queue.once('deferred', resolve))
    const submission = {
      sender: 'ada@example.org',
      recipients: ['bob@example.net'],
      data: 'Subject: x\r\n\r\nx\r\n',
    }
    const { id } = await queue.submit(submission)
    await deferral
    await expect.poll(() => queue.stats().activeCount).toBe(0)
    return id
  }
  const first = await deferred()
  expect(await listed(queue)).toEqual({ ids: [first], error: undefined })
  let open = (): void => {}
  opened = new Promise((resolve) => (open = resolve))
  isClosed = true
  const second = await deferred()
  const incomplete = await listed(queue)
  expect(incomplete.ids).toEqual([first])
  expect(incomplete.error).toBeInstanceOf(WaybillError)
  expect(incomplete.error).toMatchObject({
    code: 'LIST_INCOMPLETE',
    message: expect.stringMatching(/^not listed: the latest mail of lane 2: no checkpoint/) as string,
    place: { log: 'lane 2 envelopes', segment: 0, offsetBytes: expect.any(Number) as number },
  })
  // Of what is not durable there nobody has been told that it is accepted.
  expect(await listed(queue, { lane: 'incoming' })).toEqual({ ids: [], error: undefined })
  isClosed = false
  open()
  expect(await listed(queue)).toEqual({ ids: [first, second], error: undefined })
})
