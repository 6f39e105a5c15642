/** Strains of a relay, by looks a second apart. */
import { expect, test } from 'vitest'
import { problemsOf } from '../../../src/http/figures/problems.js'
import { StrainWatch, type Strain } from '../../../src/http/figures/strain-watch.js'
import type { DestinationSnapshot, QueueStatistics } from '../../../src/index.js'
import { destinationAt, idleStatistics } from '../../control/fake-queue.js'

const statisticsOf = (more: Partial<QueueStatistics>): QueueStatistics => ({ ...idleStatistics, ...more })

/** @param of what is seen at each second */
function looks(
  seconds: number,
  of: (second: number) => Partial<QueueStatistics>,
  endedAtMs: (second: number) => number | undefined = () => undefined,
): Strain {
  const watch = new StrainWatch()
  let strain: Strain | undefined
  for (let second = 0; second <= seconds; second++)
    strain = watch.look(statisticsOf(of(second)), second * 1000, () => endedAtMs(second))
  return strain!
}

const hanging = destinationAt('slow.example', { busy: 5, todo: 74 })
const silentNames = ({ silent }: Strain): string[] => silent.map(({ name }) => name)

test('a site is silent when nothing has ended there for a minute while mail waits', () => {
  const destinations: DestinationSnapshot[] = [hanging]
  expect(silentNames(looks(59, () => ({ destinations })))).toEqual([])
  expect(silentNames(looks(60, () => ({ destinations })))).toEqual(['slow.example'])
  // A delivery that was put off has ended, too.
  expect(
    silentNames(
      looks(
        70,
        () => ({ destinations }),
        () => 30_000,
      ),
    ),
  ).toEqual([])
})

test.each([
  ['for which nothing waits', { todo: 0 }],
  ['to which nothing is under way', { busy: 0 }],
  ['that is dead', { state: { kind: 'dead', untilMs: 1e9, reason: { status: '4.4.1', text: 'x' } } }],
] as const)('a site %s is not silent', (_what, more) => {
  expect(silentNames(looks(100, () => ({ destinations: [{ ...hanging, ...more }] })))).toEqual([])
})

test('a limit that is met now and then is no strain, and one that lasts is', () => {
  const transport = { transport: 'smtp', busy: 100, processLimit: 100 }
  const seen = (delayedCount: number): Partial<QueueStatistics> => ({
    activeCount: delayedCount > 0 ? 16_000 : 10,
    transports: [{ ...transport, delayedCount }],
  })
  const now = looks(100, (second) => seen(second % 5))
  expect([now.isActiveFull, now.transports]).toEqual([false, []])
  const full = looks(10, () => seen(7))
  expect([full.isActiveFull, full.transports]).toEqual([true, [{ ...transport, delayedCount: 7 }]])
})

test('a relay under strain is not well, and says because of what', () => {
  const statistics = statisticsOf({
    activeCount: 16_000,
    transports: [{ transport: 'out', busy: 100, processLimit: 100, delayedCount: 12 }],
    destinations: [hanging],
  })
  const strain = looks(130, () => statistics)
  const facts = { isFrozen: true, webhookTrouble: 'the receiver answered 503' }
  const problems = problemsOf({ statistics, strain, room: undefined, facts, warnings: [], wallMs: 0 })
  expect(problems.map(({ code, text }) => `${code}: ${text}`)).toEqual([
    'DESTINATION_SILENT: slow.example (out) has not answered for 2 min: 5 deliveries under way, and 74 wait.',
    'ACTIVE_FULL: 16 000 of 20 000 messages are active; most of them are for slow.example (out): other mail waits.',
    'NOTHING_DELIVERED: The relay was started with --freeze: mail is taken, and nothing is delivered.',
    'WEBHOOK_UNANSWERED: The webhook is not answered, and outcomes wait: the receiver answered 503.',
    'PROCESS_LIMIT: All 100 processes of out are busy: 12 deliveries wait for one.',
  ])
  expect(problems.map(({ help }) => help)).not.toContain(null)
})
