/** Decides whether a committed change is on two machines, by what the server says.
 * Invariant: mail is accepted only while no reason is found, except where the operator has
 * taken that on (`safety: 'assumed'`): a managed service that replicates below PostgreSQL, one
 * server on a disk that is replicated. Pure: lease.ts asks the server. */
import type { SafetyFacts } from './store.js'

/** `required`: the server must say so itself. */
export const safetyWays = ['required', 'assumed'] as const
export type SafetyWay = (typeof safetyWays)[number]

/** PostgreSQL 15. */
const versionNumberMin = 150_000
const mustBeOn = ['fsync', 'full_page_writes'] as const
/** Of `synchronous_commit`: a commit waits for the standby's disk. */
const waits: ReadonlySet<string> = new Set(['on', 'remote_apply'])

/** Settings that are looked at. */
export const safetySettings: readonly string[] = [
  ...mustBeOn,
  'synchronous_commit',
  'synchronous_standby_names',
]

/** What each server has to be, a standby, too: a commit is on its disk. */
export function serverReasons({
  versionNumber,
  settings,
}: Pick<SafetyFacts, 'versionNumber' | 'settings'>): string[] {
  const reasons: string[] = []
  if (versionNumber < versionNumberMin)
    reasons.push(`PostgreSQL 15 or later is needed, this is ${Math.floor(versionNumber / 10_000)}`)
  for (const name of mustBeOn) if (settings[name] !== 'on') reasons.push(`${name} is not on`)
  return reasons
}

/** Sentences about what is missing; none: it is safe. */
export function unsafeReasons({ versionNumber, settings, standbyCount, subscribers }: SafetyFacts): string[] {
  const reasons = serverReasons({ versionNumber, settings })
  const commit = settings['synchronous_commit'] ?? ''
  if (!waits.has(commit)) reasons.push(`synchronous_commit is ${commit || 'not visible'}, not on`)
  if ((settings['synchronous_standby_names'] ?? '') === '')
    reasons.push('synchronous_standby_names is empty: a commit waits for no standby')
  else if (standbyCount === undefined) reasons.push('standbys are not visible: the role needs pg_monitor')
  else if (subscribers.length > 0)
    reasons.push(
      `a commit waits for a logical subscriber, ${subscribers.join(', ')}: synchronous_standby_names has to name the standbys`,
    )
  else if (standbyCount === 0) reasons.push('no synchronous standby is connected')
  return reasons
}
