/** What is known of one message from the outside: what was asked, what was told, what its recipients got.
 * Invariant: a copy shares nothing that changes. */

import type { VerbName } from '../workload/workload.js'

/** `final`: delivered or failed. `durable`: no crash may take it back. */
export interface ModelRecipient {
  readonly address: string
  /** What the transport answered last that counts for good. */
  final: 'delivered' | 'failed' | undefined
  /** Its record was durable, or a later life was seen to believe it. */
  durable: boolean
  /** The life in which it was answered. */
  life: number
  /** Monotonic instant of that life, milliseconds. */
  answeredAtMs: number
  /** Successful answers of the transport. */
  deliveryCount: number
  inFlight: boolean
  /** The earliest wall time of the next attempt, and the attempts that it must count: of a durable deferral. */
  notBeforeMs: number
  attemptsMin: number
}

/** `asked`: nobody was told. `settled`: the promise was given. `refused`: told no for good. `gone`: a recovery did not have it. */
export type SubmissionState = 'asked' | 'settled' | 'refused' | 'gone'

/** The recipients that a report names. */
export interface ReportNames {
  readonly failed: readonly string[]
  readonly late: readonly string[]
  /** Who got it, and to whom a server was to pass it on. */
  readonly delivered: readonly string[]
  readonly relayed: readonly string[]
  /** What the sender calls the message, and the recipients of it, as the report says. */
  readonly envid: string | undefined
  readonly orcpts: ReadonlyMap<string, string>
  /** It says that there are so many more. */
  readonly moreCount: number
}

export interface ModelMessage {
  /** The name in the model: the sender of a submission, the id of a report. */
  readonly name: string
  readonly sender: string
  readonly data: Buffer | undefined
  /** The life in which it was asked for, and the wall time: the earliest from which its age may count. */
  readonly askedInLife: number
  askedAtMs: number
  /** The same by a clock that nobody ever set. */
  readonly askedElapsedMs: number
  readonly recipients: Map<string, ModelRecipient>
  state: SubmissionState
  id: string | undefined
  /** It was said to be finished, in this life; and that was durable. */
  finished: boolean
  finishedInLife: number
  /** It was old enough to be given up when the clock was set back, and may have been since. */
  wasOld: boolean
  /** It ended when it was old enough to be given up. */
  expired: boolean
  finishedDurably: boolean
  /** Of a report: the message that it is about, and whom it names once it was read. */
  readonly about: string | undefined
  names: ReportNames | undefined
  checksum: number | undefined
  /** Orders of this life that are not settled. */
  readonly orders: Ordered[]
  /** It may be on hold; it is, and nobody has ordered otherwise since. */
  mayBeHeld: boolean
  held: boolean
  /** Attempts that it had before the last one of this life; undefined: there was none, or an order may have made it new since. */
  attempts: number | undefined
  /** It may have been made new: what its sender was told once may be told again. */
  mayBeNew: boolean
  /** It may go another way than its recipients' addresses say. */
  mayBeRerouted: boolean
  /** It ended while it was ordered to be deleted. */
  deleted: boolean
  /** Where it goes, since it was durably rerouted. */
  nexthop: string | undefined
}

export interface Ordered {
  readonly verb: VerbName
  /** No other order for the message was under way at any time of its own. */
  isAlone: boolean
}

export function newMessage(
  facts: Pick<
    ModelMessage,
    'name' | 'sender' | 'data' | 'askedInLife' | 'askedAtMs' | 'askedElapsedMs' | 'about'
  >,
  recipients: readonly string[],
): ModelMessage {
  return {
    ...facts,
    recipients: new Map(recipients.map((address) => [address, newRecipient(address)])),
    state: 'asked',
    id: undefined,
    finished: false,
    finishedInLife: 0,
    wasOld: false,
    expired: false,
    finishedDurably: false,
    names: undefined,
    checksum: undefined,
    orders: [],
    mayBeHeld: false,
    held: false,
    attempts: undefined,
    mayBeNew: false,
    mayBeRerouted: false,
    deleted: false,
    nexthop: undefined,
  }
}

const newRecipient = (address: string): ModelRecipient => ({
  address,
  final: undefined,
  durable: false,
  life: 0,
  answeredAtMs: 0,
  deliveryCount: 0,
  inFlight: false,
  notBeforeMs: 0,
  attemptsMin: 0,
})

/** Somebody waits who was deferred: nobody else is given up. */
export const wasDeferred = ({ recipients }: ModelMessage): boolean =>
  [...recipients.values()].some(({ life, final }) => life > 0 && final === undefined)

export function copyMessage(message: ModelMessage): ModelMessage {
  const recipients = new Map<string, ModelRecipient>()
  for (const [address, recipient] of message.recipients) recipients.set(address, { ...recipient })
  return { ...message, recipients, orders: message.orders.map((ordered) => ({ ...ordered })) }
}
