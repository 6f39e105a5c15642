/** The message that contenders are given, and its records as the engine encodes them. */
import { crc32 } from '../../src/base/checksum.js'
import { MessageIds } from '../../src/base/message-id.js'
import { position } from '../../src/base/position.js'
import { seededPrng } from '../../src/base/prng.js'
import { encodeDelivery } from '../../src/record/delivery.js'
import { encodeEnvelope, untouched } from '../../src/record/envelope.js'
import { encodeFinish } from '../../src/record/finish.js'

export const sender = 'sender@example.org'

export const recipientsOf = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => `recipient${i}@example.net`)

/** Text in lines of 72 octets, CRLF. */
export function bodyOf(bytes: number): Buffer {
  const line = 'Subject: a line of the message, as long as lines in mail mostly are.. \r\n'
  return Buffer.from(line.repeat(Math.ceil(bytes / line.length)).slice(0, bytes), 'latin1')
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
