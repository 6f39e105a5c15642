/** Outcomes of recipients as events: one for all that share kind, status and text.
 * Invariant: addresses that were read for the scheduler are forgotten with their outcome, whether
 * anybody listens or not. */
import type { OutcomeNote } from '../../record/outcome-note.js'
import type { QueueEmitter, RecipientEvent } from '../life/events.js'
import type { Job } from './job.js'

/** @param transport that was asked, @param nexthop where; both '' without an attempt */
export function tellOutcomes(
  events: QueueEmitter,
  { message, addresses, orcpts }: Job,
  notes: readonly OutcomeNote[],
  transport: string,
  nexthop: string,
): void {
  for (const { kind, status, text, ranges } of notes) {
    if (events.listenerCount(kind) === 0 && addresses === undefined) continue
    const { id, sender, recipients } = message.envelope
    const named: string[] = []
    for (let i = 0; i < ranges.length; i += 2)
      for (let index = ranges[i]!; index <= ranges[i + 1]!; index++) {
        named.push(addresses?.get(index) ?? recipients[index]!)
        addresses?.delete(index)
        orcpts?.delete(index)
      }
    const event: RecipientEvent = { id, sender, recipients: named, transport, nexthop, status, text }
    events.emit(kind, event)
  }
}
