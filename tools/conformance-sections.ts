/** The scheduler's inside in the form of the recorded state sections.
 * Invariant: one text per key; equal states give equal texts, numbers printed so that they read
 * back identically. */
import type { DestinationInspection, JobInspection, SchedulerInspection } from '../src/scheduler/scheduler.js'

export interface SectionChoice {
  /** Recipient slots: section M, and the further columns of J and T. */
  readonly slots: boolean
  /** Section K, the candidate cache. */
  readonly cache: boolean
}

const windowOf = ({ state, window }: DestinationInspection): number => (state === 'suspended' ? -1 : window)

const jobOf = (job: JobInspection, slots: boolean): (number | string)[] => [
  job.level,
  job.slotsUsed,
  job.slotsAvailable,
  job.selectedEntries,
  job.readEntries,
  job.isBlocker ? 1 : 0,
  job.parent ?? 0,
  ...(slots ? [job.recipientCount, job.recipientLimit] : []),
]

/** Keys are the section's letter, a blank, and the key within the section. */
export function sectionsOf(
  inspection: SchedulerInspection,
  { slots, cache }: SectionChoice,
): Map<string, string> {
  const sections = new Map<string, string>()
  const put = (key: string, value: unknown): void => {
    sections.set(key, JSON.stringify(value))
  }
  for (const [key, d] of inspection.destinations)
    put(`Q ${key}`, [windowOf(d), d.busy, d.todo, d.success, d.failure, d.failCohorts])
  for (const [key, job] of inspection.jobs) put(`J ${key}`, jobOf(job, slots))
  for (const [name, t] of inspection.transports) {
    put(`L ${name}`, t.jobs)
    put(`C ${name}`, t.current ?? 0)
    put(`T ${name}`, [t.dead ? 1 : 0, t.pending, ...(slots ? [t.unusedSlots, t.firstUnread ?? 0] : [])])
    if (cache)
      put(
        `K ${name}`,
        t.candidate === undefined ? [] : [t.candidate.of, t.candidate.job ?? 0, t.candidate.second],
      )
  }
  if (slots)
    for (const [id, m] of inspection.messages)
      put(`M ${id}`, [m.entryCount, m.recipientCount, m.recipientLimit, m.unreadCount])
  put('R ', inspection.rotation)
  return sections
}
