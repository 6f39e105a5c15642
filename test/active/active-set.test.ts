import { expect, test } from 'vitest'
import { ActiveMessage, type EnvelopePlace } from '../../src/active/active-message.js'
import { ActiveSet } from '../../src/active/active-set.js'
import { position } from '../../src/base/position.js'
import { envelopeOf } from '../lane/fixture.js'

const place: EnvelopePlace = { lane: 0, position: position(4096), bytes: 100, outOfOrder: false }
const messageAt = (start: number): ActiveMessage =>
  new ActiveMessage(envelopeOf(), place, position(start), undefined)

test('the earliest start is that of the oldest active message, or of one whose file is not unlinked', () => {
  const set = new ActiveSet()
  const [one, two, three] = [messageAt(10), messageAt(20), messageAt(30)]
  for (const message of [one, two, three]) set.add(message)
  expect(set.earliestStart).toBe(10)
  set.endHolding(one)
  expect([set.earliestStart, set.count]).toEqual([10, 2])
  set.end(two)
  set.unlinked(one)
  expect(set.earliestStart).toBe(30)
  set.end(three)
  expect(set.earliestStart).toBeUndefined()
})

test('the earliest start is found though a later message ended first and its file is not unlinked yet', () => {
  const set = new ActiveSet()
  const [one, two] = [messageAt(10), messageAt(20)]
  for (const message of [one, two]) set.add(message)
  set.endHolding(two)
  set.endHolding(one)
  expect(set.earliestStart).toBe(10)
  set.unlinked(one)
  expect(set.earliestStart).toBe(20)
})

test('a message that is started again goes behind the others', () => {
  const set = new ActiveSet()
  const [one, two] = [messageAt(10), messageAt(20)]
  set.add(one)
  set.add(two)
  set.restart(one, position(30))
  expect([set.earliestStart, set.has(one), one.start]).toEqual([20, true, 30])
  expect([...set.messages()]).toEqual([two, one])
})

test('a message ends once, and two cannot have one start', () => {
  const set = new ActiveSet()
  const one = messageAt(10)
  set.add(one)
  expect(() => set.add(messageAt(10))).toThrow('a start is the start of one message')
  set.end(one)
  expect(() => set.end(one)).toThrow('a message ends once')
})

test('a message that cannot be read is in the suffix as long as it is kept, and is none of the active', () => {
  const set = new ActiveSet()
  const carried = messageAt(10).carried()
  set.addDamaged(position(20), { place, carried })
  expect([set.earliestStart, set.damagedCount, set.count]).toEqual([20, 1, 0])
  set.add(messageAt(30))
  expect(set.earliestStart).toBe(20)
  set.removeDamaged(position(20))
  expect([set.earliestStart, set.damagedCount, set.count]).toEqual([30, 0, 1])
})

test('data is kept in memory up to 32 MiB together, and there is room again when a message has ended', () => {
  const set = new ActiveSet()
  const half = Buffer.alloc(16 * 1024 * 1024)
  const [one, two, three] = [messageAt(10), messageAt(20), messageAt(30)]
  for (const message of [one, two, three]) {
    set.add(message)
    set.keepData(message, half)
  }
  expect([one.data, two.data, three.data]).toEqual([half, half, undefined])
  set.end(one)
  set.keepData(three, half)
  expect([one.data, three.data]).toEqual([undefined, half])
})

test('a lane is needed while a message is to be replaced in it again, also one that cannot be read yet', () => {
  const set = new ActiveSet()
  const readable = messageAt(10)
  readable.apply({ kind: 'replacement', lane: 4, timeMs: 0 })
  set.add(readable)
  const carried = { ...messageAt(10).carried(), replacement: { lane: 5, timeMs: 0 } }
  set.addDamaged(position(20), { place, carried })
  expect([3, 4, 5].map((lane) => set.hasReplacementFor(lane))).toEqual([false, true, true])
})

test('recipients stay in memory up to a bound, and those of an ended message leave room for others', () => {
  const set = new ActiveSet()
  const mebibyte = 1024 * 1024
  const large = (start: number): ActiveMessage =>
    new ActiveMessage(envelopeOf(1000), { ...place, bytes: 6 * mebibyte }, position(start), undefined)
  const messages = [large(10), large(20), large(30)] as const
  for (const message of messages) {
    set.add(message)
    set.keepRecipients(message)
  }
  expect(messages.map(({ envelope }) => envelope.recipients.length)).toEqual([1000, 1000, 0])
  expect(messages[2].envelope.recipientCount).toBe(1000)
  set.end(messages[2])
  set.end(messages[0])
  const next = large(40)
  set.add(next)
  set.keepRecipients(next)
  expect(next.envelope.recipients).toHaveLength(1000)
})

test('a message with few recipients keeps them whatever the others take', () => {
  const set = new ActiveSet()
  const few = new ActiveMessage(envelopeOf(10), { ...place, bytes: 2 ** 30 }, position(10), undefined)
  set.add(few)
  set.keepRecipients(few)
  expect(few.envelope.recipients).toHaveLength(10)
})
