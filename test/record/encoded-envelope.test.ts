/** An encoded envelope says what the decoded one does. */
import fc from 'fast-check'
import { Packr } from 'msgpackr'
import { expect, test } from 'vitest'
import { EncodedEnvelope, wordsOf, type EnvelopeFacts } from '../../src/record/encoded-envelope.js'
import { decodeEnvelope, encodeEnvelope } from '../../src/record/envelope.js'
import { isWaybillError } from '../../src/errors.js'
import { anyEnvelope } from './arbitraries.js'
import { framed, framedAt } from './framed.js'

const factsOf = (envelope: EnvelopeFacts): EnvelopeFacts => ({
  id: envelope.id,
  sender: envelope.sender,
  acceptedAt: envelope.acceptedAt,
  attempts: envelope.attempts,
  recipientCount: envelope.recipientCount,
  recipients: envelope.recipients,
  recipientFrames: envelope.recipientFrames,
  dataBytes: envelope.dataBytes,
  terms: envelope.terms,
})
const factNames = Object.keys(factsOf(decodeEnvelope(encodeEnvelope(fc.sample(anyEnvelope, 1)[0]!))))

const packr = new Packr({ useRecords: false, encodeUndefinedAsNil: true })

test('each fact is that of the decoded envelope, in any order of asking', () => {
  const encoded = new EncodedEnvelope()
  fc.assert(
    fc.property(anyEnvelope, fc.shuffledSubarray(factNames), (envelope, names) => {
      encoded.aim(framed(encodeEnvelope(envelope)), framedAt)
      for (const name of names as (keyof EnvelopeFacts)[]) expect(encoded[name]).toEqual(envelope[name])
      expect(factsOf(encoded)).toEqual(factsOf(envelope))
      expect(encoded.decode()).toEqual(envelope)
    }),
  )
})

test('lists and numbers of every length are read', () => {
  const encoded = new EncodedEnvelope()
  const [some] = fc.sample(anyEnvelope, 1)
  for (const count of [0, 1, 15, 16, 40, 1000])
    for (const number of [
      0,
      127,
      128,
      255,
      256,
      65_535,
      65_536,
      2 ** 32 - 1,
      2 ** 32,
      Number.MAX_SAFE_INTEGER,
    ]) {
      const recipients = Array.from({ length: count }, (_, i) => `${'ä'.repeat(i % 300)}@example.org`)
      const envelope = {
        ...some!,
        sender: 'x'.repeat(count),
        recipients,
        recipientCount: count,
        recipientFrames: [],
        acceptedAt: number,
        attempts: number,
        dataBytes: number,
      }
      encoded.aim(framed(encodeEnvelope(envelope)), framedAt)
      expect(factsOf(encoded)).toEqual(factsOf(envelope))
    }
})

test('encoded notes are known again by each byte of them, wherever they stand', () => {
  const encoded = new EncodedEnvelope()
  fc.assert(
    fc.property(anyEnvelope, fc.nat(7), fc.nat(), fc.nat(30), (envelope, before, place, bit) => {
      encoded.aim(framed(encodeEnvelope(envelope)), framedAt)
      const { notesHash } = encoded
      const notes = Buffer.concat([Buffer.alloc(before), encoded.encodedNotes!, Buffer.alloc(3)])
      const to = notes.length - 3
      expect(notesHash).toBeGreaterThanOrEqual(0)
      expect(encoded.hasNotes(wordsOf(notes), before, to)).toBe(true)
      expect(encoded.hasNotes(wordsOf(notes), before, to + 1)).toBe(false)
      expect(encoded.hasNotes(wordsOf(notes), before, to - 1)).toBe(false)
      notes[before + (place % (to - before))]! ^= 1 << (bit % 8)
      expect(encoded.hasNotes(wordsOf(notes), before, to)).toBe(false)
    }),
  )
})

/** The facts, or the code of the error. */
function saidBy(facts: () => EnvelopeFacts): EnvelopeFacts | string {
  try {
    return factsOf(facts())
  } catch (error) {
    return isWaybillError(error) ? error.code : `${String(error)}`
  }
}

test('what another program has written is read as a library reads it, or refused', () => {
  const encoded = new EncodedEnvelope()
  const checkSame = (payload: Buffer): void => {
    const decoded = saidBy(() => decodeEnvelope(payload))
    const said = saidBy(() => {
      encoded.aim(framed(payload), framedAt)
      return encoded
    })
    // What is wrong may stand where no fact is.
    const isUnseen = decoded === 'LOG_CORRUPT' && typeof said === 'object'
    expect(isUnseen ? decoded : said).toEqual(decoded)
  }
  const valid = anyEnvelope.map((envelope) => Buffer.from(encodeEnvelope(envelope)))
  fc.assert(fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => checkSame(Buffer.from(bytes))))
  fc.assert(
    fc.property(valid, fc.nat(), fc.anything(), (payload, place, value) => {
      const fields = packr.unpack(payload) as unknown[]
      checkSame(packr.pack(fields.with(place % fields.length, value)))
    }),
  )
  fc.assert(
    fc.property(valid, fc.nat(), (payload, length) =>
      checkSame(payload.subarray(0, length % payload.length)),
    ),
  )
  fc.assert(
    fc.property(valid, fc.nat(), fc.nat(255), (payload, place, byte) => {
      payload[place % payload.length] = byte
      checkSame(payload)
    }),
  )
})
