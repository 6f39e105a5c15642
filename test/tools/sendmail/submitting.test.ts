/** Which results of a session with the relay leave a message for another way. */
import { expect, test } from 'vitest'
import { isUnreachable } from '../../../tools/commands/sendmail/submitting.js'

test.each([
  ['4.4.1', 'connect ECONNREFUSED', true],
  ['4.3.2', '421 4.3.2 relay.example.org has too many sessions, try again later', true],
  ['4.3.2', '421 4.3.2 in other words', true],
  ['4.4.2', '421 4.4.2 relay.example.org timeout', false],
  ['4.3.0', '421 4.3.0 relay.example.org has too many sessions', false],
])('a relay that says %s (%s) was not reached: %s', (status, reason, expected) => {
  expect(isUnreachable({ kind: 'site', status, reason })).toBe(expected)
})

test('what one recipient is told is an answer of the relay', () => {
  const outcome = { kind: 'deferred', status: '4.3.2', reason: '451 4.3.2 later' } as const
  expect([isUnreachable(outcome), isUnreachable([outcome])]).toEqual([false, false])
})
