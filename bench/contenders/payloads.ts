/** The message that contenders are given, and its records as the engine encodes them. */
import { crc32 } from '../../src/base/checksum.js'
import { MessageIds } from '../../src/base/message-id.js'
import { position } from '../../src/base/position.js'
import { seededPrng } from '../../src/base/prng.js'
import { encodeDelivery } from '../../src/record/delivery.js'
import { encodeEnvelope, untouched } from '../../src/record/envelope.js'
import type { Submission } from '../../src/index.js'
import { encodeFinish } from '../../src/record/finish.js'
import type { ContenderOptions } from './contender.js'

export const sender = 'sender@example.org'

export const recipientsOf = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => `recipient${i}@example.net`)

/** Text in lines of 72 octets, CRLF. */
export function bodyOf(bytes: number): Buffer {
  const line = 'Subject: a line of the message, as long as lines in mail mostly are.. \r\n'
  return Buffer.from(line.repeat(Math.ceil(bytes / line.length)).slice(0, bytes), 'latin1')
}

/** Numbers of workload R. */
const senderCount = 1000
const addressCount = 5000
export const domainCount = 500

export const domainOf = (address: string): string => address.slice(address.lastIndexOf('@') + 1)

/** Submissions of workload R, in turn. */
export function variedSubmissions({
  messageBytes,
  recipientCount,
  domainCount: domains,
}: Pick<ContenderOptions, 'messageBytes' | 'recipientCount' | 'domainCount'>): () => Submission {
  const data = bodyOf(messageBytes)
  const all = Array.from({ length: addressCount }, (_, i): Submission => {
    const recipients = Array.from({ length: recipientCount }, (_each, j) => {
      const number = (i + j) % addressCount
      return `recipient${number}@domain${number % domains}.example.net`
    })
    return { sender: `sender${i % senderCount}@example.org`, recipients, data }
  })
  let next = 0
  return () => all[next++ % addressCount]!
}

/** What a transport of workload R does with a message's data. @throws Error when they are others */
export function deliveryOf(messageBytes: number): (data: Uint8Array) => Promise<void> {
  const expected = crc32(bodyOf(messageBytes))
  return async (data) => {
    if (crc32(data) !== expected) throw new Error('the data are not those that were submitted')
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** The same of a store that holds the data in memory, which favours it: once for each destination,
 * as the engine calls its transport; undefined in workload Q. */
export function heldDelivery({
  workload,
  messageBytes,
  recipientCount,
  domainCount: domains,
}: ContenderOptions): (() => Promise<void>) | undefined {
  if (workload === 'Q') return undefined
  const deliver = deliveryOf(messageBytes)
  const data = bodyOf(messageBytes)
  const destinationCount = Math.min(recipientCount, domains)
  if (destinationCount === 1) return () => deliver(data)
  return async () => {
    await Promise.all(Array.from({ length: destinationCount }, () => deliver(data)))
  }
}

export interface RecordPayloads {
  readonly data: Buffer
  readonly envelope: Buffer
  readonly delivery: Buffer
  readonly finish: Buffer
}

export function recordPayloads({
  messageBytes,
  recipientCount,
}: {
  readonly messageBytes: number
  readonly recipientCount: number
}): RecordPayloads {
  const data = bodyOf(messageBytes)
  const acceptedAt = 1_760_000_000_000
  const at = position(5_000_000_000)
  const envelope = encodeEnvelope({
    id: new MessageIds(seededPrng(1)).next(acceptedAt),
    sender,
    acceptedAt,
    smtputf8: false,
    recipientCount,
    recipients: recipientsOf(recipientCount),
    recipientFrames: [],
    data: { kind: 'before', distanceBytes: messageBytes + 16 },
    dataBytes: messageBytes,
    checksum: crc32(data),
    ...untouched,
  })
  const ranges = [0, recipientCount - 1]
  const delivery = encodeDelivery({
    start: at,
    notes: [{ kind: 'delivered', status: '', text: '', ranges }],
    finishes: false,
  })
  const finish = encodeFinish({ start: at, reported: [], spool: 0 })
  // Their own copies: what the encoder returns shares its buffer.
  return {
    data,
    envelope: Buffer.from(envelope),
    delivery: Buffer.from(delivery),
    finish: Buffer.from(finish),
  }
}
