/** The trace header that a relay writes above what it accepted, and the loops that it shows (RFC
 * 5321 §4.4, §6.3). Pure. */

import { leadingFields, messageIdIn, type LeadingField } from '../../base/header.js'

export interface Reception {
  /** What the client called itself. */
  readonly helo: string
  readonly address: string
  /** What we call ourselves. */
  readonly hostname: string
  /** `ESMTP`, `UTF8SMTPS`, … */
  readonly protocol: string
  /** The message's, in the queue. */
  readonly id: string
  /** Named only when it is the only one. */
  readonly recipient: string | undefined
  /** Milliseconds since 1970. */
  readonly atMs: number
}

/** Longest header this can make, bytes: with a client's name of 300 characters and a recipient of
 * 320; and what completed-header.ts adds. */
export const receivedBytesMax = 2600

export function receivedHeader(reception: Reception): Buffer {
  const { helo, address, hostname, protocol, id, recipient, atMs } = reception
  const name = helo.replace(/[^\w.:[\]-]/g, '?')
  const literal = address.includes(':') ? `IPv6:${address}` : address
  const recipientPart = recipient === undefined ? '' : `\r\n\tfor <${recipient}>`
  return Buffer.from(
    `Received: from ${name} ([${literal}])\r\n\tby ${hostname} with ${protocol} id ${id}${recipientPart};\r\n\t${dateText(atMs)}\r\n`,
  )
}

let lastSecond = -1
let lastDate = ''

/** As RFC 5322 has it, in UTC. */
export function dateText(atMs: number): string {
  const second = Math.floor(atMs / 1000)
  if (second !== lastSecond) {
    lastSecond = second
    lastDate = new Date(second * 1000).toUTCString().replace('GMT', '+0000')
  }
  return lastDate
}

/** How many `Received` fields stand in the header at the beginning of `data`: the relays that
 * it has passed. */
export const hopCount = (
  data: Buffer,
  fields: readonly LeadingField[] = leadingFields(data).fields,
): number => fields.filter(({ name }) => name === 'received').length

/** What leads from a mail in a mailbox to the log: its own Message-ID, and the SMTP session that
 * brought it. */
export interface Trace {
  readonly session: string
  readonly messageId?: string
}

export function messageIdOf(data: Buffer, fields?: readonly LeadingField[]): Pick<Trace, 'messageId'> {
  const messageId = messageIdIn(data, fields)
  return messageId === undefined ? {} : { messageId }
}
