/** The inside of a scheduler as plain data, for the conformance traces and for people.
 * Invariant: reads only; two inspections without a call between them are equal. */
import type { Job } from './job.js'
import type { SchedulerState } from './state.js'
import type { Transport } from './transport.js'

export interface DestinationInspection {
  readonly state: 'ready' | 'dead' | 'suspended'
  readonly window: number
  readonly busy: number
  readonly todo: number
  readonly success: number
  readonly failure: number
  readonly failCohorts: number
}

export interface JobInspection {
  /** -1 = in no list. */
  readonly level: number
  readonly slotsUsed: number
  readonly slotsAvailable: number
  readonly selectedEntries: number
  readonly readEntries: number
  readonly isBlocker: boolean
  readonly parent: string | undefined
  readonly recipientCount: number
  readonly recipientLimit: number
}

export interface TransportInspection {
  readonly dead: boolean
  readonly pending: number
  readonly busy: number
  readonly unusedSlots: number
  readonly firstUnread: string | undefined
  /** The scheduler's order. */
  readonly jobs: readonly string[]
  readonly current: string | undefined
  /** undefined: not valid. */
  readonly candidate:
    { readonly of: string; readonly job: string | undefined; readonly second: number } | undefined
  /** Searches for a candidate so far, and the jobs that they looked at. */
  readonly scanCount: number
  readonly scannedJobs: number
}

export interface MessageInspection {
  readonly entryCount: number
  readonly recipientCount: number
  readonly recipientLimit: number
  readonly unreadCount: number
}

export interface SchedulerInspection {
  /** Keys: `transport/name`. */
  readonly destinations: ReadonlyMap<string, DestinationInspection>
  /** Keys: `message/transport`. */
  readonly jobs: ReadonlyMap<string, JobInspection>
  readonly transports: ReadonlyMap<string, TransportInspection>
  readonly messages: ReadonlyMap<string, MessageInspection>
  /** Transports in the order of their turn. */
  readonly rotation: readonly string[]
}

type Label = (message: object) => string

/** Copies the state of the scheduler. @param label names a message in the copy */
export function inspect(state: SchedulerState, label: Label): SchedulerInspection {
  const destinations = new Map<string, DestinationInspection>()
  const transports = new Map<string, TransportInspection>()
  for (const transport of state.transports.values()) {
    transports.set(transport.name, transportOf(transport, label))
    for (const { name, state, window, busy, todo, success, failure, failCohorts } of transport.destinations)
      destinations.set(`${transport.name}/${name}`, {
        state: state.kind,
        window,
        busy,
        todo,
        success,
        failure,
        failCohorts,
      })
  }
  const jobs = new Map<string, JobInspection>()
  const messages = new Map<string, MessageInspection>()
  for (const message of state.messages) {
    const { entryCount, recipientCount, recipientLimit, unreadCount } = message
    messages.set(label(message.handle), { entryCount, recipientCount, recipientLimit, unreadCount })
    for (let job = message.firstJob; job !== undefined; job = job.messageNext)
      jobs.set(`${label(message.handle)}/${job.transport.name}`, jobOf(job, label))
  }
  const rotation = [...state.rotation].map((transport) => transport.name)
  return { destinations, jobs, transports, messages, rotation }
}

function jobOf(job: Job, label: Label): JobInspection {
  const { level, slotsUsed, slotsAvailable, selectedEntries, readEntries, isBlocker, parent } = job
  const { recipientCount, recipientLimit } = job
  return {
    level,
    slotsUsed,
    slotsAvailable,
    selectedEntries,
    readEntries,
    isBlocker,
    parent: parent && label(parent.message.handle),
    recipientCount,
    recipientLimit,
  }
}

function transportOf(transport: Transport, label: Label): TransportInspection {
  const named = (job: Job | undefined): string | undefined => job && label(job.message.handle)
  const { candidateFor, candidate, candidateSecond } = transport
  const { pending, busy, unusedSlots, scanCount, scannedJobs } = transport
  const jobs: string[] = []
  for (let job = transport.firstJob; job !== undefined; job = job.next) jobs.push(label(job.message.handle))
  return {
    dead: transport.dead !== undefined,
    pending,
    busy,
    unusedSlots,
    firstUnread: named(transport.firstUnread),
    jobs,
    current: named(transport.currentJob),
    candidate: candidateFor && {
      of: label(candidateFor.message.handle),
      job: named(candidate),
      second: candidateSecond,
    },
    scanCount,
    scannedJobs,
  }
}
