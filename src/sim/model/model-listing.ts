/** Checks a listing right after a recovery: settled messages are there, ended ones are not.
 * Invariant: from here on the listing is certain. A later crash neither adds to it nor
 * takes from it. */
import type { ModelMessage } from './model-message.js'
import { judgeTags } from './model-times.js'
import type { Violate } from './violation.js'

/** A message as a listing shows it. */
export interface Listed {
  readonly id: string
  readonly sender: string
  /** Of those that wait, as many as a listing names. */
  readonly recipients: readonly string[]
  readonly recipientCount: number
  readonly tags?: readonly string[]
}

export function judgeListing(
  message: ModelMessage,
  listed: Listed | undefined,
  life: number,
  violate: Violate,
): void {
  const { name } = message
  if (message.finishedDurably && listed !== undefined) violate('O4', `${name} had ended and is listed`)
  if (listed === undefined) {
    if (message.state === 'settled' && !message.finished)
      violate('O1', `${name} was settled and is not listed`)
    if (message.finished) message.finishedDurably = true
    if (message.state === 'asked' && message.askedInLife !== life) message.state = 'gone'
    return
  }
  if (message.state === 'refused') violate('O5', `${name} was refused and is listed`)
  if (message.state === 'asked') message.state = 'settled'
  if (message.state === 'gone') violate('O5', `${name} was not there after a recovery and is listed`)
  message.finished = false
  judgeTags(message, listed.tags, violate)
  judgeWaiting(message, listed, violate)
}

/** Listed recipients wait; if a message has more than a listing names, the others are unknown. */
function judgeWaiting({ name, recipients }: ModelMessage, listed: Listed, violate: Violate): void {
  const waiting = new Set(listed.recipients)
  const isWhole = waiting.size === listed.recipientCount
  let leastCount = 0
  let mostCount = 0
  for (const recipient of recipients.values()) {
    const { address, final } = recipient
    if (final === undefined) leastCount++
    if (!recipient.durable) mostCount++
    if (waiting.has(address)) {
      if (recipient.durable) violate('O2', `${address} of ${name} was ${final} durably and waits`)
      recipient.final = undefined
    } else if (isWhole) {
      if (final === undefined) violate('O1', `${address} of ${name} has no outcome and does not wait`)
      else recipient.durable = true
    }
  }
  for (const address of waiting)
    if (!recipients.has(address)) violate('O5', `${name} waits for ${address}, whom it never had`)
  if (listed.recipientCount < leastCount)
    violate('O1', `${name} waits for ${listed.recipientCount} recipients, and ${leastCount} have no outcome`)
  if (listed.recipientCount > mostCount)
    violate('O2', `${name} waits for ${listed.recipientCount} recipients, and only ${mostCount} may wait`)
}
