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

/** Looks at a disk at which a write takes so long, with so many writes a second. */
const syncsOf =
  (perSecond: number, eachMs: number) =>
  (second: number): Partial<QueueStatistics> => {
    const syncCount = Math.floor(second * perSecond)
    return { journal: { ...idleStatistics.journal, syncCount, syncTotalMs: syncCount * eachMs } }
  }

test('a disk is slow when the writes of a minute have been, whether one is under way or not', () => {
  expect(looks(30, syncsOf(1, 1000)).syncMs).toBe(1000)
  expect(looks(30, syncsOf(0.1, 700)).syncMs).toBe(700)
  expect(looks(30, syncsOf(100, 40)).syncMs).toBeUndefined()
  // One that met a backup, and a disk that was slow a minute ago.
  expect(looks(30, syncsOf(0.04, 2000)).syncMs).toBeUndefined()
  const upTo = (second: number): Partial<QueueStatistics> => syncsOf(1, 1000)(Math.min(second, 20))
  expect(looks(75, upTo).syncMs).toBe(1000)
  expect(looks(90, upTo).syncMs).toBeUndefined()
})

test('the syncs of the next life are not counted with those of the last one', () => {
  const anew = (second: number): Partial<QueueStatistics> =>
    second < 30 ? syncsOf(1, 1000)(second) : syncsOf(1, 10)(second - 30)
  expect(looks(40, anew).syncMs).toBeUndefined()
})

test('a relay under strain is not well, and says because of what', () => {
  const statistics = statisticsOf({
    activeCount: 16_000,
    transports: [{ transport: 'out', busy: 100, processLimit: 100, delayedCount: 12 }],
    destinations: [hanging],
  })
  const strain = { ...looks(130, () => statistics), syncMs: 1234 }
  const facts = { isFrozen: true, webhookTrouble: 'the receiver answered 503', webhookWaitingCount: 1234 }
  const problems = problemsOf({ statistics, strain, room: undefined, facts, warnings: [], wallMs: 0 })
  expect(problems.map(({ code, text }) => `${code}: ${text}`)).toEqual([
    'DISK_SLOW: The disk is slow: a synced write takes 1.2 s, and new mail waits for one.',
    'DESTINATION_SILENT: slow.example (out) has not answered for 2 min: 5 deliveries under way, and 74 wait.',
    'ACTIVE_FULL: 16 000 of 20 000 messages are active; most of them are for slow.example (out): other mail waits.',
    'NOTHING_DELIVERED: The relay was started with --freeze: mail is taken, and nothing is delivered.',
    'WEBHOOK_UNANSWERED: The webhook is not answered, and outcomes wait (1 234): the receiver answered 503.',
    'PROCESS_LIMIT: All 100 processes of out are busy: 12 deliveries wait for one.',
  ])
  expect(problems.map(({ help }) => help)).not.toContain(null)
})
