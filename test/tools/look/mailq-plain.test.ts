/** Messages written from their frames are written as all others are. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { MetMessage } from '../../../src/inspect/messages/queued-message.js'
import { EncodedEnvelope } from '../../../src/record/encoded-envelope.js'
import { encodeEnvelope, type Envelope } from '../../../src/record/envelope.js'
import { PlainListing } from '../../../tools/commands/look/mailq-plain.js'
import { jsonOf, textOf } from '../../../tools/commands/look/mailq-text.js'
import { escapedJson } from '../../../tools/commands/text/shown-text.js'
import { anyEnvelope } from '../../record/arbitraries.js'
import { framed, framedAt } from '../../record/framed.js'

type Place = Pick<MetMessage, 'where' | 'uncertain' | 'dueAt'>

const waiting = { lane: 17, waiting: undefined, active: undefined } as const

/** As a walk meets it. */
function metOf(envelope: Envelope, place: Place, encoded = new EncodedEnvelope()): MetMessage {
  encoded.aim(framed(encodeEnvelope(envelope)), framedAt)
  return { ...waiting, ...place, waitingCount: envelope.recipientCount, envelope: encoded }
}

/** As `mailq` writes all that is not plain. */
const usual = (envelope: Envelope, place: Place): string => {
  const { notes, recipientCount, recipients } = envelope
  return `\n${textOf({ ...waiting, ...place, waitingCount: recipientCount, notes, envelope }, recipients)}`
}

/** The same as JSON. */
const usualJson = (envelope: Envelope, place: Place): string => {
  const { notes, recipientCount, recipients } = envelope
  const message = { ...waiting, ...place, waitingCount: recipientCount, notes, envelope }
  return `${escapedJson(JSON.stringify(jsonOf(message, recipients, undefined)))}\n`
}

const anyPlace: fc.Arbitrary<Place> = fc.record({
  where: fc.constantFrom('incoming' as const, 'deferred' as const, 'hold' as const),
  uncertain: fc.boolean(),
  dueAt: fc.oneof(fc.constant(Infinity), fc.nat(2 ** 41)),
})
const anyWord = fc.stringMatching(/^[ -~]{0,40}$/)
const anyStatus = fc.constantFrom('', '4.4.1', '4.0.0')
/** Mostly of ASCII, with one reason for all. */
const anyListed: fc.Arbitrary<Envelope> = fc
  .record({
    envelope: anyEnvelope,
    recipients: fc.array(anyWord, { minLength: 1, maxLength: 20 }),
    id: anyWord,
    sender: anyWord,
    acceptedAt: fc.nat(2 ** 40),
    dataBytes: fc.oneof(fc.nat(2 ** 30), fc.nat(Number.MAX_SAFE_INTEGER)),
    status: anyStatus,
    text: fc.oneof(anyWord, fc.constantFrom('greylisted', '450 4.7.1 come again', 'über', 'two\nlines')),
    remote: fc.option(fc.stringMatching(/^[!-~]{1,60}$/), { nil: undefined }),
    lastIndex: fc.nat(30),
    noteCount: fc.nat(2),
    isAsking: fc.boolean(),
  })
  .map(({ envelope, status, text, remote, lastIndex, noteCount, isAsking, recipients, ...fields }) => {
    const note = { kind: 'deferred' as const, status, text, ranges: [0, lastIndex] }
    const notes = Array.from({ length: noteCount }, () => ({ ...note, ...(remote && { remote }) }))
    const own = { ...fields, recipients, recipientCount: recipients.length, recipientFrames: [], notes }
    const asked = isAsking ? undefined : { dsn: undefined, key: undefined, terms: undefined }
    return { ...envelope, ...own, ...asked, id: fields.id as Envelope['id'] }
  })

test.each([
  ['text', usual],
  ['json', usualJson],
] as const)('%s that is written from the frames is what would be written else', (form, usual) => {
  let plainCount = 0
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.oneof({ weight: 4, arbitrary: anyListed }, anyEnvelope), anyPlace), {
        maxLength: 8,
      }),
      (messages) => {
        const listing = new PlainListing(form)
        const plain = messages.filter(([envelope, place]) => listing.add(metOf(envelope, place)))
        plainCount += plain.length
        const text = plain.map(([envelope, place]) => usual(envelope, place)).join('')
        const piece = listing.take()
        expect(piece?.text.toString() ?? '').toBe(text)
        expect(piece?.count ?? 0).toBe(plain.length)
        expect(piece?.dataBytes ?? 0).toBe(plain.reduce((sum, [{ dataBytes }]) => sum + dataBytes, 0))
      },
    ),
    { numRuns: 1000 },
  )
  expect(plainCount).toBeGreaterThan(500)
})

const [some] = fc.sample(anyListed, 1)
const ordinary: Envelope = {
  ...some!,
  id: '1M8HRX01ZEC8V0T6' as Envelope['id'],
  sender: 'ada@example.org',
  recipients: ['grace@example.net'],
  recipientCount: 1,
  notes: [{ kind: 'deferred', status: '4.2.2', text: 'full', ranges: [0, 0] }],
}
const deferred: Place = { where: 'deferred', uncertain: false, dueAt: 0 }

test('pieces stay as they are until the listing is reset, and a full one says so', () => {
  const listing = new PlainListing('text')
  const pieces: string[] = []
  const taken: Buffer[] = []
  for (let i = 0; !listing.isFull; i++) {
    const envelope = { ...ordinary, recipients: [`grace${i}@example.net`] }
    expect(listing.add(metOf(envelope, deferred))).toBe(true)
    pieces.push(usual(envelope, deferred))
    if (i % 100 === 0) taken.push(listing.take()!.text)
  }
  taken.push(listing.take()!.text)
  expect(listing.take()).toBe(undefined)
  expect(Buffer.concat(taken).toString()).toBe(pieces.join(''))
  listing.reset()
  expect(listing.isFull).toBe(false)
  listing.add(metOf(ordinary, deferred))
  expect(listing.take()!.text.toString()).toBe(usual(ordinary, deferred))
})

test('a message that is longer than the room for all of them is left to others', () => {
  const listing = new PlainListing('text')
  const recipients = Array.from({ length: 1000 }, () => 'x'.repeat(600))
  const long = { ...ordinary, recipients, recipientCount: 1000 }
  expect(listing.add(metOf({ ...long, notes: [] }, deferred))).toBe(false)
  expect(listing.add(metOf(ordinary, deferred))).toBe(true)
  expect(listing.take()!.text.toString()).toBe(usual(ordinary, deferred))
})

/** All notes have the same hash. */
class Alike extends EncodedEnvelope {
  override get notesHash(): number {
    return 7
  }
}

const waitingFor = (text: string, lastIndex = 0): Envelope => ({
  ...ordinary,
  notes: [{ kind: 'deferred', status: '4.2.2', text, ranges: [0, lastIndex] }],
})
const usualOf = (envelopes: readonly Envelope[]): string =>
  envelopes.map((envelope) => usual(envelope, deferred)).join('')

test('a known reason is that of the same notes of as many recipients', () => {
  const listing = new PlainListing('text')
  const isAdded = (envelope: Envelope): boolean => listing.add(metOf(envelope, deferred, new Alike()))
  const alike = ['plumless', 'buckeroo', 'buckeroe', 'duckeroo', 'plumless'].map((text) => waitingFor(text))
  expect(alike.map(isAdded)).toEqual(alike.map(() => true))
  expect(listing.take()!.text.toString()).toBe(usualOf(alike))
  const two = { ...alike[1]!, recipients: ['a@b.test', 'c@d.test'], recipientCount: 2 }
  expect(isAdded(two)).toBe(false)
})

test('of more reasons with one hash than are looked at, the others are left to others', () => {
  const listing = new PlainListing('text')
  const envelopes = Array.from({ length: 20 }, (_, i) => waitingFor(`reason ${i}`))
  const listed = envelopes.filter((envelope) => listing.add(metOf(envelope, deferred, new Alike())))
  expect(listed).toEqual(envelopes.slice(0, 16))
  expect(listing.take()!.text.toString()).toBe(usualOf(listed))
})

test('more reasons than are remembered are written as they are', () => {
  const listing = new PlainListing('text')
  for (let i = 0; i < 20_000; i++) {
    const envelope = waitingFor(`reason ${i % 9000} ${'x'.repeat(i % 300)}`)
    expect(listing.add(metOf(envelope, deferred))).toBe(true)
    if (i % 100 > 0) continue
    listing.reset()
    listing.take()
    listing.add(metOf(envelope, deferred))
    expect(listing.take()!.text.toString()).toBe(usual(envelope, deferred))
  }
})

test('a reason that is longer than those that are remembered is left to others', () => {
  const listing = new PlainListing('text')
  expect(listing.add(metOf(waitingFor('x'.repeat(3000)), deferred))).toBe(false)
  expect(listing.add(metOf(ordinary, deferred))).toBe(true)
  expect(listing.take()!.text.toString()).toBe(usual(ordinary, deferred))
})
