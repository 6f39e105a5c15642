/** Words for the verbs: what each will do, and what it has done. Pure. */
import type { Counts, Operation, Verb } from './api.js'
import { counted } from './format.js'

export interface VerbWords {
  /** On a button. */
  readonly label: string
  /** `Held 3 messages`. */
  readonly done: string
  readonly doing: string
  readonly meaning: string
  /** Nothing undoes it. */
  readonly isFinal: boolean
}

export const verbWords: Readonly<Record<Verb, VerbWords>> = {
  hold: {
    label: 'Hold',
    done: 'Held',
    doing: 'Holding',
    meaning: 'No attempts until they are released.',
    isFinal: false,
  },
  release: {
    label: 'Release',
    done: 'Released',
    doing: 'Releasing',
    meaning: 'Mail on hold is due now. Attempts and age stay as they are.',
    isFinal: false,
  },
  requeue: {
    label: 'Requeue',
    done: 'Requeued',
    doing: 'Requeuing',
    meaning: 'As if just accepted: due now, no attempt made, no route set, a new lifetime.',
    isFinal: false,
  },
  flush: {
    label: 'Flush',
    done: 'Started',
    doing: 'Starting',
    meaning: 'Deferred mail is attempted now, and the destinations concerned are revived.',
    isFinal: false,
  },
  reroute: {
    label: 'Reroute',
    done: 'Rerouted',
    doing: 'Rerouting',
    meaning: 'From now on they go to another next hop, and are due now. Mail on hold stays on hold.',
    isFinal: false,
  },
  expire: {
    label: 'Expire',
    done: 'Expired',
    doing: 'Expiring',
    meaning: 'They end as if too old: the senders get a report on recipients that still wait.',
    isFinal: true,
  },
  delete: {
    label: 'Delete',
    done: 'Deleted',
    doing: 'Deleting',
    meaning: 'They are deleted, without a report.',
    isFinal: true,
  },
}

export const verbs: readonly Verb[] = ['hold', 'release', 'requeue', 'flush', 'reroute', 'expire', 'delete']

/** `12 messages with 15 recipients`. */
export const countsText = ({ messageCount, recipientCount }: Counts): string =>
  `${counted(messageCount, 'message')} with ${counted(recipientCount, 'recipient')}`

/** How an operation ended, exactly: a sentence for each fact. */
export function resultSentences({ do: verb, state, counts, problem }: Operation): string[] {
  const { missedCount, failedCount } = counts
  const { done } = verbWords[verb]
  return [
    `${done} ${countsText(counts)}.`,
    ...(state === 'stopped' ? ['Stopped before the end: what was done stays done.'] : []),
    ...(missedCount > 0 ? [`${counted(missedCount, 'message')} had ended or moved on before.`] : []),
    ...(failedCount > 0 ? [`${counted(failedCount, 'message')} could not be read.`] : []),
    ...(problem === null ? [] : [`${problem.code}: ${problem.detail ?? problem.title}`]),
  ]
}
