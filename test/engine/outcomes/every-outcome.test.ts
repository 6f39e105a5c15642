/** Outcomes that stand in no record of an attempt that began while somebody consumed. */
import { expect, test } from 'vitest'
import { zmailerPolicy } from '../../../src/policy/zmailer-policy.js'
import type { RetryPolicy } from '../../../src/policy/retry-policy.js'
import type { Route } from '../../../src/engine/life/options.js'
import type { Outcome } from '../../../src/delivery/transport.js'
import type { QueueOutcome } from '../../../src/record/outcome.js'
import { deferred, delivered, simulated, submission, type Stage } from '../stage.js'

/** What a consumer gets of each kind: recipients, as far as they are known. */
function consuming(stage: Stage): Map<string, string[]> {
  const told = new Map<string, string[]>()
  const note = ({ kind, recipients }: QueueOutcome): void => {
    told.set(kind, [...(told.get(kind) ?? []), ...recipients])
  }
  void (async () => {
    for await (const item of stage.queue.outcomes({ consumer: 'it' })) if (item.kind !== 'gap') note(item)
  })().catch(() => undefined)
  return told
}

const known = (stage: Stage): Promise<void> =>
  stage.until('the consumer is known', () => stage.queue.consumers().length === 1)

/** `impatient.test` is given up after an attempt, others are tried again. */
const byDestination: RetryPolicy = {
  intervalsMs: [100],
  bounceQueueLifetimeMs: 100_000,
  delayWarningAgesMs: [],
  decide: ({ nexthop }) =>
    nexthop.startsWith('impatient') ? { kind: 'expire' } : { kind: 'retry', delayMs: 100 },
}

test('a consumer gets the failure of recipients that are given up while others wait', async () => {
  await simulated(async (stage) => {
    stage.answer = (_, { attempts, sender }) => (attempts === 0 && sender !== '' ? deferred : delivered)
    await stage.open({ retry: byDestination })
    const told = consuming(stage)
    await known(stage)
    await stage.queue.submit(submission(['a@b.test', 'one@impatient.test', 'two@impatient2.test']))
    await stage.until('nothing is left', () => stage.isEmpty())
    await stage.until('the end is told', () => told.get('finished')?.length === 0)
    expect(told.get('failed')).toEqual(['one@impatient.test', 'two@impatient2.test'])
  })
})

test('recipients of a large message that are put off as they are read are told by address', async () => {
  await simulated(
    async (stage) => {
      const route = (recipient: string): Route => {
        if (recipient.startsWith('lost')) throw new Error('nobody knows the way')
        return { transport: 'out', nexthop: recipient.startsWith('asked') ? 'asked.test' : 'b.test' }
      }
      const retry = zmailerPolicy('*/asked.test queueonly\n*/* interval=1h')
      const queue = await stage.open({ route, retry })
      const told = consuming(stage)
      await known(stage)
      const heard: string[] = []
      queue.on('deferred', ({ recipients }) => heard.push(...recipients))
      // More than one frame has, so that the envelope does not name them.
      const addresses = Array.from(
        { length: 1200 },
        (_, i) => `${['lost', 'asked', 'known'][i % 3]}${i}@b.test`,
      )
      await queue.submit(submission(addresses))
      const putOff = addresses.filter((address) => !address.startsWith('known'))
      await stage.until('all are told', () => told.get('deferred')?.length === putOff.length)
      expect(heard.toSorted()).toEqual(putOff.toSorted())
      expect(told.get('deferred')!.toSorted()).toEqual(putOff.toSorted())
    },
    { queue: { segmentBytes: 2 ** 20, laneSegmentBytes: 2 ** 20 } },
  )
})

test('the first consumer gets what becomes of attempts that are under way when it comes', async () => {
  await simulated(async (stage) => {
    let answer: (() => void) | undefined
    const deliver = (): Promise<Outcome> => new Promise((resolve) => (answer = () => resolve(delivered)))
    await stage.open({ transports: { out: { deliver } } })
    await stage.queue.submit(submission(['a@b.test']))
    await stage.until('an attempt is under way', () => answer !== undefined)
    const told = consuming(stage)
    await known(stage)
    answer!()
    await stage.until('nothing is left', () => stage.isEmpty())
    await stage.until('the end is told', () => told.has('finished'))
    expect(told.get('delivered')).toEqual(['a@b.test'])
  })
})
