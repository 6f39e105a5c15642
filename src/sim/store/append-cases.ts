/** The cases of changes in flight: every fate of every question from the first on. Each comes alone
 * and in pairs, with a failover and a kill at many instants. */
import type { AppendCase } from './one-append.js'
import type { Fate } from './sim-store.js'

const wrongFates: readonly Fate[] = ['lost', 'ghost', 'deaf', 'broken']
/** The change, beats beside it, connections, the resume, the look, the change again. */
const questionCount = 12
/** Before, while and behind the change is on its way, and when its deadline has passed. */
const instantsMs = [undefined, 0, 1, 2, 3, 5, 43, 60] as const

const single = Array.from({ length: questionCount }, (_, question) => question).flatMap((question) =>
  wrongFates.map((fate) => ({ question, fate })),
)

const ofKinds = (cases: readonly Omit<AppendCase, 'kind'>[]): AppendCase[] =>
  cases.flatMap((each) => [
    { ...each, kind: 'journal' },
    { ...each, kind: 'together' },
  ])

/** One question goes wrong, and the database fails over at any moment. */
export const failovers: readonly AppendCase[] = ofKinds(
  single.flatMap((fate, i) =>
    instantsMs.map((failoverMs, j) => ({
      seed: i + j,
      fates: [fate],
      failoverMs,
      isZombie: (i + j) % 2 === 0,
      killMs: undefined,
    })),
  ),
)

/** One question goes wrong, and the owner is killed at any moment. */
export const kills: readonly AppendCase[] = ofKinds(
  single.flatMap((fate, i) =>
    instantsMs.slice(1).map((killMs, j) => ({
      seed: i + j,
      fates: [fate],
      failoverMs: instantsMs[(i * 3 + j) % instantsMs.length],
      isZombie: true,
      killMs,
    })),
  ),
)

/** A second question goes wrong while the first is resolved. */
export const pairs: readonly AppendCase[] = ofKinds(
  wrongFates.flatMap((first) =>
    single.map((second, i) => ({
      seed: i,
      fates: [{ question: 0, fate: first }, second],
      failoverMs: instantsMs[i % instantsMs.length],
      isZombie: i % 2 === 0,
      killMs: undefined,
    })),
  ),
)
