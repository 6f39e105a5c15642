/** Mail that waits for a slow site keeps few files while other mail passes. */
import { expect, test } from 'vitest'
import { deferred, mail, pause, simulated, submission, type Stage } from '../stage.js'
import type { DeliveryRequest, DeliveryResult } from '../../../src/delivery/transport.js'
import type { QueueOptions } from '../../../src/engine/life/options.js'

/** Data in the log, and not in a file. */
const other = mail('line\r\n'.repeat(640))

/** A call of the disk takes little. */
const quick = { overtakeMsMax: 5 }

interface Slow {
  readonly options: Partial<QueueOptions>
  /** Recipients of the slow site, in the order of their attempts. */
  readonly attempted: string[]
}

/** One delivery at a time to the slow site takes so long; all others are over at once. */
function slowSite(stage: Stage, ms: number, answers: readonly DeliveryResult[] = []): Slow {
  const attempted: string[] = []
  const deliver = async ({ recipients, nexthop }: DeliveryRequest): Promise<DeliveryResult> => {
    if (nexthop !== 'slow.example') return { kind: 'delivered' }
    attempted.push(...recipients)
    await pause(stage, ms)
    return answers[attempted.length - 1] ?? { kind: 'delivered' }
  }
  const options = {
    transports: { out: { deliver } },
    scheduler: { transports: { out: { destinationConcurrencyLimit: 1 } } },
    suffixBytesMax: 4 * 64 * 1024,
  }
  return { options, attempted }
}

/** A file has 64 KiB, and about as much other mail comes with each message for the slow site. */
async function otherMailPasses(stage: Stage, rounds: number): Promise<number> {
  let fileCountMost = 0
  for (let n = 0; n < rounds; n++) {
    await stage.queue.submit(submission(`n${n}@slow.example`))
    await Promise.all(
      Array.from({ length: 15 }, () => stage.queue.submit(submission('ada@quick.example', other))),
    )
    await pause(stage, 100)
    fileCountMost = Math.max(fileCountMost, stage.disk!.image.files().length)
  }
  return fileCountMost
}

test('what waits for a slow site is written once more, and each has its attempt, once', async () => {
  await simulated(async (stage) => {
    const { options, attempted } = slowSite(stage, 5000)
    await stage.open(options)
    const fileCountMost = await otherMailPasses(stage, 30)
    expect([fileCountMost < 25, attempted.length < 10]).toEqual([true, true])
    await stage.until('all have been attempted', () => attempted.length === 30, 1_000_000)
    await stage.queue.idle()
    expect(new Set(attempted).size).toBe(30)
    expect(await stage.ids()).toEqual([])
  }, quick)
})

test('mail whose attempt is under way, or that was deferred in part, stays where it is', async () => {
  await simulated(async (stage) => {
    const { options, attempted } = slowSite(stage, 3_600_000, [deferred])
    await stage.open(options)
    let requeuedCount = 0
    stage.queue.on('requeued', () => void requeuedCount++)
    await stage.queue.submit(submission(['a@slow.example', 'b@slow.example']))
    for (let k = 0; k < 10; k++)
      await Promise.all(
        Array.from({ length: 10 }, () => stage.queue.submit(submission('ada@b.example', other))),
      )
    await pause(stage, 2000)
    expect([attempted.length, requeuedCount, stage.queue.stats().activeCount]).toEqual([2, 0, 1])
  }, quick)
})

test('an operator finds what is written once more', async () => {
  await simulated(async (stage) => {
    const { options } = slowSite(stage, 3_600_000)
    await stage.open(options)
    await otherMailPasses(stage, 12)
    const { messageCount } = await stage.queue.hold({ domain: 'slow.example' })
    expect(messageCount).toBeGreaterThanOrEqual(11)
  }, quick)
})

test('lives that end while mail is written once more lose none of it', async () => {
  await simulated(async (stage) => {
    const { options, attempted } = slowSite(stage, 5000)
    for (let life = 0; life < 4; life++) {
      await stage.open(options)
      await otherMailPasses(stage, 8)
    }
    const delivered: string[] = []
    const deliver = ({ recipients }: DeliveryRequest): DeliveryResult => {
      delivered.push(...recipients)
      return { kind: 'delivered' }
    }
    await stage.open({ ...options, transports: { out: { deliver } } })
    await stage.queue.idle()
    expect([attempted.length > 0, delivered.length >= 28]).toEqual([true, true])
    expect(await stage.ids()).toEqual([])
  }, quick)
})
