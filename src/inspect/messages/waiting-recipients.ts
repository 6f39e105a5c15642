/** The recipients of a message that still wait, and the sender's requests for them. */
import type { RequestDsn } from '../../delivery/transport.js'
import { findingOf, type Report } from '../damage/finding.js'
import type { MessageContent } from './message-content.js'
import type { Messages } from './messages.js'
import type { MetMessage, QueuedMessage } from './queued-message.js'

/** Without a wait if they stand in the envelope. */
export function addressesIn({
  envelope,
  waiting,
}: Pick<MetMessage, 'envelope' | 'waiting'>): readonly string[] | undefined {
  if (envelope.recipientFrames.length > 0) return undefined
  const { recipients } = envelope
  return waiting === undefined ? recipients : waiting.map((index) => recipients[index] ?? '?')
}

export async function waitingAddresses(
  message: QueuedMessage,
  content: MessageContent,
): Promise<readonly string[]> {
  const all = await content.recipients(message, 0, message.envelope.recipientCount)
  return message.waiting === undefined ? all : message.waiting.map((index) => all[index] ?? '?')
}

type Reading = Pick<Messages, 'content' | 'presence'>

/** Reads the waiting recipients. Unreadable ones are reported, unless a relay has moved the message
 * meanwhile. @returns undefined if they cannot be read */
export const readableAddresses = (
  message: QueuedMessage,
  messages: Reading,
  report: Report,
): Promise<readonly string[] | undefined> =>
  readable(message, messages, report, (content) => waitingAddresses(message, content))

/** The sender's requests, read like `readableAddresses`. @returns undefined also for none */
export const readableDsn = (
  message: QueuedMessage,
  messages: Reading,
  report: Report,
): Promise<RequestDsn | undefined> => readable(message, messages, report, (content) => content.dsn(message))

async function readable<T>(
  message: QueuedMessage,
  { content, presence }: Reading,
  report: Report,
  read: (content: MessageContent) => Promise<T>,
): Promise<T | undefined> {
  try {
    return await read(content)
  } catch (error) {
    const place = content.log(message.log).placeOf(message.at)
    const finding = findingOf(error, place, `recipients of ${message.envelope.id}`)
    if (await presence.isThere(message.lane, message.at)) report(finding)
    return undefined
  }
}
