/** Outcomes of an entry as notes: one for all that share kind, status and text. */
import { toRanges, type Ranges } from '../base/ranges.js'
import type { Report } from '../delivery/outcome.js'
import type { Outcome } from '../delivery/transport.js'
import { condensed, type OutcomeNote } from '../record/outcome-note.js'

const deliveredTo = (ranges: Ranges): OutcomeNote => ({ kind: 'delivered', status: '', text: '', ranges })

/** What becomes of most messages: shared, because a note is never changed. */
const firstDelivered: readonly OutcomeNote[] = [deliveredTo([0, 0])]

/** @param recipients of the entry, in its order: that of the outcomes */
export function notesOf(recipients: readonly number[], { outcomes }: Report): readonly OutcomeNote[] {
  const first = outcomes[0]
  if (outcomes.length === 1 && first!.kind === 'delivered' && first!.response === undefined)
    return recipients[0] === 0 ? firstDelivered : [deliveredTo(toRanges([recipients[0]!]))]
  if (first !== undefined && outcomes.every((outcome) => outcome === first)) {
    const ranges = toRanges(recipients.slice())
    return first.kind === 'delivered'
      ? [{ kind: 'delivered', status: '', text: first.response ?? '', ranges }]
      : [{ kind: first.kind, status: first.status, text: first.reason, ranges }]
  }
  const groups = new Map<
    string,
    { readonly kind: Outcome['kind']; status: string; text: string; indexes: number[] }
  >()
  recipients.forEach((index, i) => {
    const outcome = outcomes[i]!
    const status = outcome.kind === 'delivered' ? '' : outcome.status
    const text = outcome.kind === 'delivered' ? (outcome.response ?? '') : outcome.reason
    const key = `${outcome.kind} ${status} ${text}`
    const group = groups.get(key)
    if (group === undefined) groups.set(key, { kind: outcome.kind, status, text, indexes: [index] })
    else group.indexes.push(index)
  })
  return condensed(
    [...groups.values()].map(({ kind, status, text, indexes }) => ({
      kind,
      status,
      text,
      ranges: toRanges(indexes),
    })),
  )
}
