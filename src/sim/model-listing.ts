/** What a listing right after a recovery says about a message: what was settled is there, what had ended is not.
 * Invariant: from here on what it shows is certain. A later crash brings nothing back that is not there, and takes nothing of it. */
import type { ModelMessage } from './model-message.js'
import type { Violate } from './violation.js'

/** A message as a listing shows it. */
export interface Listed {
  readonly id: string
  readonly sender: string
  readonly recipients: readonly string[]
}

export function judgeListing(
  message: ModelMessage,
  listed: Listed | undefined,
  life: number,
  violate: Violate,
): void {
  const { name, recipients } = message
  if (message.finishedDurably && listed !== undefined) violate('O4', `${name} had ended and is listed`)
  if (listed === undefined) {
    if (message.state === 'settled' && !message.finished)
      violate('O1', `${name} was settled and is not listed`)
    if (message.finished) message.finishedDurably = true
    if (message.state === 'asked' && message.askedInLife !== life) message.state = 'gone'
    return
  }
  if (message.state === 'asked') message.state = 'settled'
  if (message.state === 'gone') violate('O5', `${name} was not there after a recovery and is listed`)
  message.finished = false
  const waiting = new Set(listed.recipients)
  for (const recipient of recipients.values()) {
    const { address, final } = recipient
    if (waiting.has(address)) {
      if (recipient.durable) violate('O2', `${address} of ${name} was ${final} durably and waits`)
      recipient.final = undefined
    } else if (final === undefined) violate('O1', `${address} of ${name} has no outcome and does not wait`)
    else recipient.durable = true
  }
  for (const address of waiting)
    if (!recipients.has(address)) violate('O5', `${name} waits for ${address}, whom it never had`)
}
