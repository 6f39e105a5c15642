/** Checks an attempt and its outcome: the message exists, waits, is not on hold, and each recipient
 * is due.
 * Invariant: repeating an attempt that a crash may forget breaks no promise; it counts as a
 * duplicate if the other side has the message. */
import { crc32 } from '../../base/checksum.js'
import type { ModelMessage, ModelRecipient, ReportNames } from './model-message.js'
import type { Fact } from './pending-facts.js'
import type { Violate } from './violation.js'

export interface Attempt {
  readonly id: string
  readonly sender: string
  readonly recipients: readonly string[]
  readonly attempts: number
  readonly nexthop: string
  readonly wallMs: number
  /** Monotonic. */
  readonly nowMs: number
  /** How long the oldest synced write has been under way, milliseconds. */
  readonly syncedWriteMs: number
  /** The life certainly owns the queue. */
  readonly isProven: boolean
}

/** The life, and its instant. */
interface Now {
  readonly life: number
  readonly steadyMs: number
}

/** @returns recipients that had been delivered, in an earlier life that forgot */
export function judgeAttempt(message: ModelMessage, attempt: Attempt, now: Now, violate: Violate): number {
  const { name } = message
  const { life } = now
  if (message.state === 'refused') violate('O5', `${name} was refused and is attempted`)
  if (message.state === 'gone') violate('O5', `${name} was not there after a recovery and is back`)
  if (message.state === 'asked' && message.askedInLife === life)
    violate('O5', `${name} is attempted before it is settled`)
  if (message.finishedDurably) violate('O4', `${name} had ended and is attempted again`)
  if (message.held) violate('O4', `${name} is on hold and is attempted`)
  if (message.nexthop !== undefined && message.nexthop !== attempt.nexthop)
    violate('O6', `${name} was rerouted to ${message.nexthop} and goes to ${attempt.nexthop}`)
  if (message.finished && message.finishedInLife === life)
    violate('O4', `${name} had ended in this life and is attempted again`)
  // A later life has it and acts on it: it made sure of that first.
  if (message.state === 'asked') message.state = 'settled'
  message.wasOld = false
  let duplicateCount = 0
  for (const address of attempt.recipients) {
    const recipient = message.recipients.get(address)
    if (recipient === undefined) {
      violate('O5', `${name} is attempted for ${address}, whom it never had`)
      continue
    }
    if (recipient.deliveryCount > 0) duplicateCount++
    judgeRecipient(name, recipient, attempt, now, violate)
  }
  return duplicateCount
}

function judgeRecipient(
  name: string,
  recipient: ModelRecipient,
  { attempts }: Attempt,
  { life, steadyMs }: Now,
  violate: Violate,
): void {
  const { address } = recipient
  if (recipient.inFlight) violate('O5', `${name} is attempted twice at once for ${address}`)
  recipient.inFlight = true
  if (recipient.final !== undefined) {
    if (recipient.durable)
      violate('O2', `${address} of ${name} was ${recipient.final} durably and is attempted again`)
    else if (recipient.life === life)
      violate('O2', `${address} of ${name} was ${recipient.final} in this life and is attempted again`)
    recipient.final = undefined
  }
  if (attempts < recipient.attemptsMin)
    violate('O6', `${name} forgot an attempt: ${attempts} were made, ${recipient.attemptsMin} are durable`)
  if (steadyMs < recipient.notBeforeMs)
    violate(
      'O6',
      `${address} of ${name} is attempted ${recipient.notBeforeMs - steadyMs} ms before its retry is due`,
    )
}

/** Mail waits no longer than its interval by the monotonic clock, wherever the wall clock goes,
 * while it is not on hold. */
export function judgeWait(
  { name, recipients, mayBeHeld }: ModelMessage,
  attempt: Attempt,
  { life, waitMsMax }: { readonly life: number; readonly waitMsMax: number },
  violate: Violate,
): void {
  if (mayBeHeld) return
  for (const address of attempt.recipients) {
    const recipient = recipients.get(address)
    if (recipient === undefined || recipient.life === 0) continue
    const waitedMs = attempt.nowMs - (recipient.life === life ? recipient.answeredAtMs : 0)
    if (waitedMs > waitMsMax) violate('O6', `${address} of ${name} has waited ${waitedMs} ms for its retry`)
  }
}

/** The outcome of an attempt, as the engine recorded it. */
export function noteOutcome(
  { recipients }: ModelMessage,
  kind: Fact['kind'] & ('delivered' | 'failed' | 'deferred'),
  addresses: readonly string[],
  { life, nowMs }: { readonly life: number; readonly nowMs: number },
): void {
  for (const address of addresses) {
    const recipient = recipients.get(address)
    if (recipient === undefined) continue
    recipient.inFlight = false
    // It may be deferred without an attempt, by a life that has forgotten an earlier outcome.
    if (kind === 'deferred' && !recipient.durable && recipient.life !== life) recipient.final = undefined
    recipient.life = life
    recipient.answeredAtMs = nowMs
    if (kind !== 'deferred') recipient.final = kind
  }
}

/** A delivery that is not durable has only just been recorded. */
export function judgeHaste(
  { name, recipients }: ModelMessage,
  fact: Fact,
  life: number,
  nowMs: number,
  violate: Violate,
): void {
  if (fact.kind !== 'delivered') return
  for (const address of fact.recipients) {
    const { life: answeredInLife, answeredAtMs } = recipients.get(address)!
    if (answeredInLife === life && answeredAtMs < nowMs)
      violate('O3', `the delivery of ${name} to ${address} waited ${nowMs - answeredAtMs} ms for a sync`)
  }
}

/** Checks the data that a transport reads: it equals the submitted bytes; a report, which the queue
 * writes, is the same at every attempt.
 * @param named by the data, of a report */
export function judgeData(
  message: ModelMessage,
  data: Buffer,
  named: ReportNames | undefined,
  violate: Violate,
): void {
  const { name } = message
  if (message.data !== undefined) {
    if (!message.data.equals(data)) violate('O1', `the data of ${name} is not what was submitted`)
    return
  }
  const checksum = crc32(data)
  if (message.checksum !== undefined && message.checksum !== checksum)
    violate('O5', `the report ${name} is not the same at every attempt`, { message: name })
  message.checksum = checksum
  message.names = named
}
