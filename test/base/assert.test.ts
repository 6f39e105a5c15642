import { expect, test } from 'vitest'
import { assert, InvariantError, unreachable } from '../../src/base/assert.js'

test('an invariant that does not hold throws with its own sentence, one that holds does nothing', () => {
  expect(() => assert(false, 'two and two are four')).toThrow(new InvariantError('two and two are four'))
  expect(() => assert(true, 'two and two are four')).not.toThrow()
})

test('a case that nobody knows is named', () => {
  expect(() => unreachable({ kind: 'new' } as never)).toThrow('unknown case {"kind":"new"}')
})
