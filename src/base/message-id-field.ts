/** The Message-ID in a message's header. */
import { leadingFields } from './header.js'

/** Longer ones are nobody's. */
const messageIdLengthMax = 300

/** @param data the message, or its beginning @returns `<…>`; undefined where there is none */
export function messageIdIn(data: Buffer): string | undefined {
  const field = leadingFields(data).fields.find(({ name }) => name === 'message-id')
  if (field === undefined) return undefined
  const messageId = /<[^<>\s]+>/.exec(data.toString('utf8', field.start, field.end))?.[0]
  return messageId === undefined || messageId.length > messageIdLengthMax ? undefined : messageId
}
