/** Outcomes that stand in no record of an attempt that began while somebody consumed. */
import { expect, test } from 'vitest'
import type { RetryPolicy } from '../../../src/policy/retry-policy.js'
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
