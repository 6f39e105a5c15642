/** The facts about one message as seen from outside: requests, answers, deliveries.
 * Invariant: a copy shares nothing that changes. */

import { noTimes, type Times } from '../workload/timed.js'
import type { VerbName } from '../workload/workload.js'

/** `final`: delivered or failed. `durable`: no crash may take it back. */
export interface ModelRecipient {
  readonly address: string
  /** The last final answer of the transport. */
  final: 'delivered' | 'failed' | undefined
  /** Its record was durable, or a later life was seen to trust it. */
  durable: boolean
  /** The life in which it was answered. */
  life: number
  /** Monotonic instant of that life, milliseconds. */
  answeredAtMs: number
  /** Successful answers of the transport. */
  deliveryCount: number
  inFlight: boolean
  /** The earliest wall time of the next attempt, and the attempts that it must count: of a
   * durable deferral. */
  notBeforeMs: number
  attemptsMin: number
}

/** `asked`: no answer yet. `settled`: promised. `refused`: rejected for good. `gone`: a recovery
 * did not have it. */
export type SubmissionState = 'asked' | 'settled' | 'refused' | 'gone'

/** The recipients that a report names. */
export interface ReportNames {
  readonly failed: readonly string[]
  readonly late: readonly string[]
  /** Recipients with a delivery, and those that a server was to relay to. */
  readonly delivered: readonly string[]
  readonly relayed: readonly string[]
  /** ENVID and ORCPTs in the report. */
  readonly envid: string | undefined
  readonly orcpts: ReadonlyMap<string, string>
  /** Further recipients, as a number. */
  readonly moreCount: number
}

export interface ModelMessage {
  /** The name in the model: the sender of a submission, the id of a report. */
  readonly name: string
  readonly sender: string
  readonly data: Buffer | undefined
  /** The life in which it was asked for, and the wall time: the earliest from which its
   * age may count. */
  readonly askedInLife: number
  askedAtMs: number
  /** The same by a clock that was never set. */
  readonly askedElapsedMs: number
  readonly recipients: Map<string, ModelRecipient>
  state: SubmissionState
  id: string | undefined
  /** It was reported as finished, in this life; and that was durable. */
  finished: boolean
  finishedInLife: number
  /** It was old enough to be given up when the clock was set back, and may have been since. */
  wasOld: boolean
  /** It ended when it was old enough to be given up. */
  expired: boolean
  finishedDurably: boolean
  /** Of a report: its message, and the recipients that it names once it was read. */
  readonly about: string | undefined
  names: ReportNames | undefined
  checksum: number | undefined
  /** Orders of this life that are not settled. */
  readonly orders: Ordered[]
  /** It may be on hold; it is, without a later order. */
  mayBeHeld: boolean
  held: boolean
  /** Attempts that it had before the last one of this life; undefined: there was none, or an order
   * may have made it new since. */
  attempts: number | undefined
  /** It may have been requeued: reports may be repeated. */
  mayBeNew: boolean
  /** It may go another way than its recipients' addresses say. */
  mayBeRerouted: boolean
  /** It ended while it was ordered to be deleted. */
  deleted: boolean
  /** Where it goes, since it was durably rerouted. */
  nexthop: string | undefined
  /** What its submitter asked. */
  readonly times: Times
}

export interface Ordered {
  readonly verb: VerbName
  /** No other order for the message was ever under way together with it. */
  isAlone: boolean
}

export function newMessage(
  facts: Pick<
    ModelMessage,
    'name' | 'sender' | 'data' | 'askedInLife' | 'askedAtMs' | 'askedElapsedMs' | 'about'
  >,
  recipients: readonly string[],
  times: Times = noTimes,
): ModelMessage {
  return {
    ...facts,
    times,
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

/** The wall clock is set.
 * @param wallMs before, @param lifetimeMs age at which the message may be given up */
export function stepClock(message: ModelMessage, byMs: number, wallMs: number, lifetimeMs: number): void {
  if (wallMs - message.askedAtMs >= lifetimeMs) message.wasOld = true
  // A message that is not accepted yet, or may be made new, may get the new time.
  const isOpen = message.state === 'asked' || message.mayBeNew
  if (isOpen) message.askedAtMs = Math.min(message.askedAtMs, wallMs + byMs)
}

/** A report about another message. */
export function newReport(
  id: string,
  about: ModelMessage,
  since: Pick<ModelMessage, 'askedInLife' | 'askedAtMs' | 'askedElapsedMs'>,
): ModelMessage {
  const facts = { name: id, sender: '', data: undefined, about: about.name, ...since }
  return { ...newMessage(facts, [about.sender]), id }
}

/** It was composed at this time, or any time before since the message was asked for. */
export const earliestOf = (
  askedAtMs: number,
  about: ModelMessage,
): Pick<ModelMessage, 'askedAtMs' | 'askedElapsedMs'> => ({
  askedAtMs: Math.min(askedAtMs, about.askedAtMs),
  askedElapsedMs: about.askedElapsedMs,
})

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

/** A deferred recipient waits: no other one is given up. */
export const wasDeferred = ({ recipients }: ModelMessage): boolean =>
  [...recipients.values()].some(({ life, final }) => life > 0 && final === undefined)

export function copyMessage(message: ModelMessage): ModelMessage {
  const recipients = new Map<string, ModelRecipient>()
  for (const [address, recipient] of message.recipients) recipients.set(address, { ...recipient })
  return { ...message, recipients, orders: message.orders.map((ordered) => ({ ...ordered })) }
}
