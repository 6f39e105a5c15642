import { expect, test } from 'vitest'
import { verdictOf, verdictOutcome } from '../../../src/relay/tables/route-verdict.js'

test.each([
  ['error', '5.1.2 gone for good', '5.1.2', 'gone for good'],
  ['error', '5.1.2', '5.1.2', 'mail for this address is not taken'],
  ['error', 'gone', '5.0.0', 'gone'],
  ['error', '5.1 is no status', '5.0.0', '5.1 is no status'],
  ['error', '', '5.0.0', 'mail for this address is not taken'],
  ['retry', '4.3.2  until Monday ', '4.3.2', 'until Monday'],
  ['retry', '', '4.0.0', 'mail for this address has to wait'],
  ['discard', 'a mailbox that nobody reads', '', 'a mailbox that nobody reads'],
  ['discard', '', '', 'discarded'],
] as const)('%s:%s says %j, %j', (verdict, said, status, text) => {
  expect(verdictOf(verdict, said)).toEqual({ status, text })
})

test('what one says comes to the same when it is read again', () => {
  for (const said of ['5.1.2 gone', 'gone', '5.1.2', '']) {
    const once = verdictOf('error', said)
    if (typeof once === 'string') throw new Error(once)
    expect(verdictOf('error', `${once.status} ${once.text}`)).toEqual(once)
  }
})

test.each([
  ['error', '4.1.2 gone', /begins with 5/],
  ['retry', '5.1.2 gone', /begins with 4/],
  ['discard', '2.0.0 fine', /has no status/],
  ['error', 'x'.repeat(401), /400 characters/],
  ['retry', 'a\tb', /ASCII/],
] as const)('%s:%s is no verdict', (verdict, said, why) => {
  expect(verdictOf(verdict, said)).toMatch(why)
})

test('error fails, retry defers, discard delivers', () => {
  expect(verdictOutcome('error', '5.1.2 gone')).toEqual({ kind: 'failed', status: '5.1.2', reason: 'gone' })
  expect(verdictOutcome('retry', 'soon')).toEqual({ kind: 'deferred', status: '4.0.0', reason: 'soon' })
  expect(verdictOutcome('discard', '')).toEqual({ kind: 'delivered', response: 'discarded' })
  // Rerouted there with words that no table would have.
  expect(verdictOutcome('error', '2.0.0 fine')).toMatchObject({ kind: 'failed', status: '5.0.0' })
})
