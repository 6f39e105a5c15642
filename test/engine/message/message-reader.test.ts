/** What is read of a message whose recipients are not in memory. */
import { expect, test } from 'vitest'
import { ActiveMessage } from '../../../src/active/active-message.js'
import { ActiveSet } from '../../../src/active/active-set.js'
import { crc32 } from '../../../src/base/checksum.js'
import { position } from '../../../src/base/position.js'
import { MessageReader } from '../../../src/engine/message/message-reader.js'
import { remainderOf } from '../../../src/engine/settle/replacement.js'
import type { Lanes } from '../../../src/lane/lanes.js'
import type { Journal } from '../../../src/log/journal.js'
import { encodeEnvelope, withoutRecipients, type Envelope } from '../../../src/record/envelope.js'
import { envelopeOf } from '../../lane/fixture.js'
import { encodeRecipients } from '../../../src/record/recipients.js'
import type { Spool } from '../../../src/engine/message/spool.js'

const recipientCount = 2500
const addresses = Array.from({ length: recipientCount }, (_, i) => `r${i}@example.net`)
const orcpts = addresses.map((address, i) => (i % 2 === 0 ? '' : `rfc822;was-${address}`))
const distances = [3000, 2000, 1000]
const place = { lane: 0, position: position(10_000), bytes: 100, outOfOrder: false }
const envelope = {
  recipientCount,
  recipients: [],
  recipientFrames: distances,
  notes: [],
  warnings: 0,
  dsn: { ret: undefined, envid: '', notify: [], orcpts: [] },
} as Partial<Envelope> as Envelope

/** Notes which frames are read, by the index of each. */
function staged(): { reader: MessageReader; read: number[] } {
  const read: number[] = []
  const frame = async (at: number): Promise<object> => {
    const index = distances.indexOf(place.position - at)
    read.push(index)
    const [from, end] = [1000 * index, 1000 * (index + 1)]
    const payload = encodeRecipients(addresses.slice(from, end), orcpts.slice(from, end))
    return { kind: 'recipients', payload: Buffer.from(payload) }
  }
  const journal = { files: { frame } } as object as Journal
  const lanes = { get: () => ({ logs: undefined }) } as object as Lanes
  return { reader: new MessageReader(journal, lanes, {} as Spool, new ActiveSet()), read }
}

test.each([
  [0, 1000, [0]],
  [500, 1000, [0, 1]],
  [999, 9999, [0, 1, 2]],
  [2499, 10, [2]],
])(
  'recipients from %d on, %d of them, and what was asked for them, are read together',
  async (from, count, frames) => {
    const { reader, read } = staged()
    expect(await reader.addressees({ envelope, place }, from, count)).toEqual({
      addresses: addresses.slice(from, from + count),
      orcpts: orcpts.slice(from, from + count),
    })
    expect(read).toEqual(frames)
  },
)

test('a replacement of a message with many recipients reads each of their frames once', async () => {
  const { reader, read } = staged()
  const message = new ActiveMessage(envelope, place, position(20_000), undefined)
  const { recipients, dsn } = await remainderOf(message, reader)
  expect([recipients, dsn?.orcpts, read]).toEqual([addresses, orcpts, [0, 1, 2]])
})

test('recipients that were forgotten are read from the envelope, with what was asked for them', async () => {
  const dsn = { ret: undefined, envid: 'e', notify: [], orcpts: orcpts.slice(0, 100) }
  const whole: Envelope = { ...envelopeOf(100), dsn }
  const frame = async (): Promise<object> => ({ kind: 'envelope', payload: encodeEnvelope(whole) })
  const journal = { files: { frame } } as object as Journal
  const reader = new MessageReader(
    journal,
    { get: () => ({ logs: undefined }) } as object as Lanes,
    {} as Spool,
    new ActiveSet(),
  )
  const forgotten = withoutRecipients(whole)
  expect([forgotten.recipients, forgotten.dsn?.orcpts, forgotten.recipientCount]).toEqual([[], [], 100])
  expect(await reader.addressees({ envelope: forgotten, place }, 40, 2)).toEqual({
    addresses: ['r40@example.net', 'r41@example.net'],
    orcpts: ['', orcpts[41]],
  })
})

test('ten attempts that begin together read the data once, and a later one not at all', async () => {
  const data = Buffer.from('Subject: a\r\n\r\na\r\n')
  let readCount = 0
  const frame = async (): Promise<object> => {
    readCount++
    await new Promise((resolve) => setImmediate(resolve))
    return { kind: 'data', payload: Buffer.from(data) }
  }
  const active = new ActiveSet()
  const reader = new MessageReader(
    { files: { frame } } as object as Journal,
    { get: () => ({ logs: undefined }) } as object as Lanes,
    {} as Spool,
    active,
  )
  const sent: Envelope = {
    ...envelopeOf(10),
    data: { kind: 'before', distanceBytes: 1000 },
    dataBytes: data.length,
    checksum: crc32(data),
  }
  const message = new ActiveMessage(sent, place, position(20_000), undefined)
  active.add(message)
  const given = await Promise.all(Array.from({ length: 10 }, () => reader.data(message)))
  expect(new Set(given).size).toBe(10)
  // What a transport writes into its copy stays there.
  for (const one of given) (one as Buffer).fill(0)
  expect(await reader.data(message)).toEqual(data)
  expect(readCount).toBe(1)
})
