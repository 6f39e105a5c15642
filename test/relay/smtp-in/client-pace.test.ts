import { expect, test } from 'vitest'
import { ClientPace, type SessionSight } from '../../../src/relay/smtp-in/client-pace.js'

const waiting: SessionSight = {
  replyCount: 0,
  messageCount: 0,
  bytesRead: 0,
  isInData: false,
  isOurTurn: false,
}
const minute = 60_000

/** Looks each second, `seconds` times. @returns how many looks found it alive */
function alive(pace: ClientPace, seconds: number, sight: (second: number) => Partial<SessionSight>): number {
  for (let second = 1; second <= seconds; second++)
    if (!pace.looksAlive({ ...waiting, ...sight(second) }, 1000)) return second - 1
  return seconds
}

test('octets do not prolong a request, a reply begins a new one', () => {
  expect(alive(new ClientPace(5 * minute), 1000, (second) => ({ bytesRead: second }))).toBe(299)
  expect(alive(new ClientPace(5 * minute), 1000, (second) => ({ replyCount: Number(second > 200) }))).toBe(
    500,
  )
})

test.each([
  [499, false],
  [501, true],
])('data at %d octets a second, in a message of an hour: %s', (rate, lasts) => {
  const pace = new ClientPace(minute / 60)
  expect(alive(pace, 3600, (second) => ({ isInData: true, bytesRead: second * rate })) === 3600).toBe(lasts)
})

test('what data has won beyond the time of a request is lost', () => {
  const pace = new ClientPace(minute)
  const bytes = (second: number): number => (second <= 10 ? second * 1_000_000 : 10_000_000)
  expect(alive(pace, 1000, (second) => ({ isInData: true, bytesRead: bytes(second) }))).toBe(69)
})

test('a client that waits for us has all the time', () => {
  expect(alive(new ClientPace(minute), 7200, () => ({ isOurTurn: true }))).toBe(7200)
})

test('requests without a message keep a session for half an hour, a message for another', () => {
  const pace = new ClientPace(5 * minute)
  expect(alive(pace, 5000, (second) => ({ replyCount: second, messageCount: Number(second > 1000) }))).toBe(
    1000 + 30 * 60,
  )
})

test('a count that begins again takes nothing away', () => {
  const pace = new ClientPace(minute)
  pace.looksAlive({ ...waiting, bytesRead: 1_000_000 }, 1000)
  expect(alive(pace, 30, () => ({ isInData: true, bytesRead: 10 }))).toBe(30)
})
