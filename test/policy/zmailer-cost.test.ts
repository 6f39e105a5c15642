/** A decision costs the same whatever the configuration, and however often a message was tried. */
import { expect, test } from 'vitest'
import { processorMs } from '../processor-time.js'
import { seededPrng } from '../../src/base/prng.js'
import { zmailerPolicy } from '../../src/policy/zmailer-policy.js'

test('a place in the list is found at once, after however many attempts', () => {
  const policy = zmailerPolicy('*/* interval=1s')
  const state = { attempts: 1e9, ageMs: 0, transport: 'smtp', nexthop: 'a.example' }
  const tookMs = processorMs(() => {
    expect(policy.decide(state, seededPrng(1)).kind).toBe('retry')
  })
  expect(tookMs).toBeLessThan(1000)
})

test('a decision that was made before does not search the clauses again', () => {
  const clauses = Array.from({ length: 500 }, (_, i) => `smtp/*{a,b}*{c,d}*{e,f}*{g,h}*x${i} maxring=1`)
  const policy = zmailerPolicy(clauses.join('\n'))
  const state = { attempts: 1, ageMs: 0, transport: 'smtp', nexthop: `${'abcdefgh.'.repeat(20)}example` }
  policy.decide(state, seededPrng(1))
  const tookMs = processorMs(() => {
    for (let i = 0; i < 10_000; i++) policy.decide(state, seededPrng(1))
  })
  expect(tookMs).toBeLessThan(1000)
})
