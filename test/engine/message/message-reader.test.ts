/** What is read of a message whose recipients are not in memory. */
import { expect, test } from 'vitest'
import { ActiveMessage } from '../../../src/active/active-message.js'
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
  return { reader: new MessageReader(journal, lanes, {} as Spool), read }
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
  )
  const forgotten = withoutRecipients(whole)
  expect([forgotten.recipients, forgotten.dsn?.orcpts, forgotten.recipientCount]).toEqual([[], [], 100])
  expect(await reader.addressees({ envelope: forgotten, place }, 40, 2)).toEqual({
    addresses: ['r40@example.net', 'r41@example.net'],
    orcpts: ['', orcpts[41]],
  })
})
