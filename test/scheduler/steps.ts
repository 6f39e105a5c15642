/** Random configurations and random sequences of what can happen to a scheduler. */
import fc from 'fast-check'
import type { DeliveryReport, SchedulerOptions } from '../../src/scheduler/scheduler.js'
import type { Group, LimitTable, World } from './world.js'

const transport = fc.constantFrom('ta', 'tb')
export const nexthop: fc.Arbitrary<string> = fc.constantFrom('a.test', 'b.test', 'C.test')
const group: fc.Arbitrary<Group> = fc.tuple(transport, nexthop, fc.integer({ min: 1, max: 12 }))
const feedback = fc.constantFrom('1', '0.3', '1/concurrency', '1/sqrt_concurrency', '0')

const transportOptions = fc.record({
  processLimit: fc.oneof(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 20, max: 22 })),
  processReserve: fc.constantFrom(0, 0, 40),
  unansweredProcessShare: fc.constantFrom(100, 100, 15),
  initialDestinationConcurrency: fc.integer({ min: 1, max: 4 }),
  destinationConcurrencyLimit: fc.integer({ min: 0, max: 5 }),
  destinationRecipientLimit: fc.integer({ min: 0, max: 3 }),
  destinationConcurrencyPositiveFeedback: feedback,
  destinationConcurrencyNegativeFeedback: feedback,
  destinationConcurrencyFailedCohortLimit: fc.integer({ min: 0, max: 2 }),
  deliverySlotCost: fc.integer({ min: 0, max: 3 }),
  minimumDeliverySlots: fc.integer({ min: 0, max: 2 }),
  recipientLimit: fc.integer({ min: 0, max: 12 }),
  extraRecipientLimit: fc.integer({ min: 0, max: 5 }),
  recipientRefillLimit: fc.integer({ min: 1, max: 6 }),
  recipientRefillDelay: fc.constantFrom(0, 2),
  destinationRateDelay: fc.constantFrom(0, 0, 0, 1.5),
  destinationRateLimit: fc.constantFrom(0, 0, 0, 2),
  destinationRateInterval: fc.constant(3),
  destinationCanary: fc.boolean(),
  destinationSlowStart: fc.boolean(),
})

export const options: fc.Arbitrary<SchedulerOptions> = fc.record({
  minimalBackoffTime: fc.constantFrom(4, 4, 60),
  transportRetryTime: fc.constant(3),
  crowdedActiveCount: fc.constantFrom(0, 0, 1, 3),
  qmgrMessageActiveLimit: fc.integer({ min: 1, max: 8 }),
  qmgrMessageRecipientLimit: fc.integer({ min: 1, max: 30 }),
  qmgrMessageRecipientMinimum: fc.integer({ min: 1, max: 4 }),
  feedbackRounding: fc.boolean(),
  retryTransport: fc.constantFrom('', 'retry'),
  transports: fc.record({ ta: transportOptions, tb: transportOptions }),
})

const limitsOfOne = fc.record({
  ring: fc.constantFrom('first', 'second'),
  ringDeliveryCountMax: fc.integer({ min: 1, max: 4 }),
  transportDeliveryCountMax: fc.integer({ min: 1, max: 6 }),
  deliveryCountMax: fc.integer({ min: 1, max: 7 }),
  queueonly: fc.constant(false),
})

export const limits: fc.Arbitrary<LimitTable | undefined> = fc.option(
  fc.record({ 'a.test': limitsOfOne, 'b.test': limitsOfOne, 'c.test': limitsOfOne }),
  { nil: undefined },
)

export type Step =
  | { readonly kind: 'admit'; readonly groups: readonly Group[] }
  | { readonly kind: 'report'; readonly which: number; readonly result: DeliveryReport }
  | { readonly kind: 'pass'; readonly ms: number }
  | { readonly kind: 'fail'; readonly transport: string }
  | { readonly kind: 'limit'; readonly limits: LimitTable | undefined }
  | { readonly kind: 'withdraw'; readonly which: number }
  | { readonly kind: 'next' | 'fill' | 'supply' | 'putOff' | 'readAtOnce' | 'seconds' }

const which = fc.nat({ max: 1000 })
export const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('admit' as const),
      groups: fc.array(group, { minLength: 1, maxLength: 4 }),
    }),
  },
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constant('report' as const),
      which,
      result: fc.constantFrom<DeliveryReport>('ok', 'ok', 'ok', 'defer', 'site', 'site', 'okreason', 'crash'),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 0, max: 4000 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('fail' as const), transport }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('limit' as const), limits }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('withdraw' as const), which }) },
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constantFrom('next', 'fill', 'fill', 'supply', 'putOff', 'readAtOnce', 'seconds'),
    }) as fc.Arbitrary<Step>,
  },
)

export function take(world: World, step: Step): void {
  switch (step.kind) {
    case 'admit':
      world.admit(...step.groups)
      return
    case 'report': {
      const entry = world.underWay[step.which % Math.max(1, world.underWay.length)]
      if (entry !== undefined) world.report(entry, step.result)
      return
    }
    case 'pass':
      return world.pass(step.ms)
    case 'fail':
      return world.fail(step.transport)
    case 'limit':
      return world.limit(step.limits)
    case 'withdraw': {
      const letter = world.letters[step.which % Math.max(1, world.letters.length)]
      if (letter !== undefined && !letter.done) world.withdraw(letter)
      return
    }
    case 'next':
      world.next()
      return
    case 'fill':
      world.fill()
      return
    case 'supply':
      return world.supply()
    case 'putOff':
      world.reluctant = true
      return
    case 'readAtOnce':
      world.reluctant = false
      return
    // As long as crowded memory watches a destination.
    case 'seconds':
      for (let second = 0; second < 7; second++) world.pass(1000)
  }
}
