/** Counts how often each ingredient of a torture occurred.
 * Invariant: only real events are counted, not planned ones. A test demands each ingredient. */
import type { Operation } from '../disk/operation.js'
import type { QueueLife } from '../life/queue-life.js'
import type { HardLife } from './torture-plan.js'

export class Tally {
  readonly #counts = new Map<string, number>()

  add(name: string, count = 1): void {
    this.#counts.set(name, this.of(name) + count)
  }

  of(name: string): number {
    return this.#counts.get(name) ?? 0
  }

  addAll(other: Tally): void {
    for (const [name, count] of other.#counts) this.add(name, count)
  }

  /** By name. */
  get counts(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1)))
  }
}

export function noteCall(met: Tally, operation: Operation): void {
  const { kind, path } = operation
  if (kind === 'create' && path.startsWith('spool/')) met.add('uploads')
  if (kind === 'unlink' && path.startsWith('lanes/')) met.add('segments of lanes removed')
  if (kind === 'rename' && operation.to.startsWith('journal/spare') && path.endsWith('.log'))
    met.add('segments recycled')
}

/** A life that is over. */
export function noteLife(
  met: Tally,
  life: QueueLife,
  { power, clockByMs, isCopied }: Pick<HardLife, 'power' | 'clockByMs' | 'isCopied'>,
): void {
  const { world, ended, phase, trouble, callers } = life
  met.add('lives')
  if (clockByMs !== 0) met.add('clock set between lives')
  if (isCopied) met.add('copies without what is empty')
  for (const { phase: failedIn, operation } of trouble.failedCalls) {
    met.add(`calls failed while ${failedIn}`)
    if (operation.kind.startsWith('sync') || operation.kind === 'writeSynced')
      met.add(`syncs failed while ${failedIn}`)
  }
  for (const other of trouble.others) met.add(other)
  met.add('mail submitted', callers.submittedCount)
  met.add('orders given', callers.orderedCount)
  const how = world.stopped ? 'crashed' : ended === undefined ? 'came to rest' : 'ended by themselves'
  met.add(`lives that ${how} while ${phase}`)
  met.add(power === undefined ? 'kills' : 'power losses')
}
