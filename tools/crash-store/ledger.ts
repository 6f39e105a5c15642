/** The ledgers of all lives of a queue, read and judged.
 * Invariants, the promises that are judged:
 * 1. What was accepted is delivered.
 * 2. No attempt begins in a life when another one has owned the queue for longer than `proofMs`.
 * 3. A failover of the database alone delivers nothing twice, and ends no life. */
import { readFileSync } from 'node:fs'

export interface Entries {
  readonly accepted: ReadonlySet<string>
  /** How often each was delivered. */
  readonly delivered: ReadonlyMap<string, number>
  readonly claims: readonly { readonly life: string; readonly atMs: number; readonly epoch: number }[]
  readonly attempts: readonly { readonly life: string; readonly atMs: number }[]
  readonly acceptedAtMs: readonly number[]
  readonly errors: readonly string[]
  readonly refusedCount: number
  readonly resumedCount: number
}

export function readLedger(path: string): Entries {
  const accepted = new Set<string>()
  const delivered = new Map<string, number>()
  const claims: { life: string; atMs: number; epoch: number }[] = []
  const attempts: { life: string; atMs: number }[] = []
  const acceptedAtMs: number[] = []
  const errors: string[] = []
  let refusedCount = 0
  let resumedCount = 0
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    const [kind, first = '', second = '', third = ''] = line.split(' ')
    if (kind === 'A') {
      accepted.add(first)
      acceptedAtMs.push(Number(third))
    } else if (kind === 'D') delivered.set(first, (delivered.get(first) ?? 0) + 1)
    else if (kind === 'B') attempts.push({ life: second, atMs: Number(third) })
    else if (kind === 'C') claims.push({ epoch: Number(first), life: second, atMs: Number(third) })
    else if (kind === 'X') errors.push(`${first} ${second}`)
    else if (kind === 'N') refusedCount++
    else if (kind === 'E' && first === 'resumed') resumedCount++
  }
  return { accepted, delivered, claims, attempts, acceptedAtMs, errors, refusedCount, resumedCount }
}

export interface Verdict {
  readonly acceptedCount: number
  readonly lostCount: number
  /** Messages that were delivered more than once. */
  readonly doubledCount: number
  /** Attempts that an old owner began. */
  readonly lateCount: number
  readonly takeoverCount: number
  readonly resumedCount: number
  /** Longest time without an accepted message. */
  readonly silentMsMax: number
}

export function judge(entries: Entries, proofMs: number): Verdict {
  const { accepted, delivered, claims, attempts, resumedCount } = entries
  const times = [...entries.acceptedAtMs].sort((a, b) => a - b)
  const order = [...claims].sort((a, b) => a.epoch - b.epoch)
  const endOf = new Map(order.map(({ life }, i) => [life, order[i + 1]?.atMs ?? Infinity]))
  return {
    acceptedCount: accepted.size,
    lostCount: waiting(entries),
    doubledCount: [...delivered.values()].filter((count) => count > 1).length,
    lateCount: attempts.filter(({ life, atMs }) => atMs > (endOf.get(life) ?? Infinity) + proofMs).length,
    takeoverCount: Math.max(0, claims.length - 1),
    resumedCount,
    silentMsMax: times.reduce((most, atMs, i) => Math.max(most, atMs - (times[i - 1] ?? atMs)), 0),
  }
}

/** Accepted, and not delivered yet. */
export const waiting = ({ accepted, delivered }: Entries): number =>
  [...accepted].filter((token) => !delivered.has(token)).length
