import { expect, test } from 'vitest'
import type { Standing } from '../../src/store/store.js'
import { Watch } from '../../src/store/owner-watch.js'

const ttlMs = 1000
const owned: Standing = {
  epoch: 4,
  nonce: 'life',
  node: 'a',
  address: undefined,
  beat: 7,
  isConnected: true,
}
const watch = (node: string, isHome: boolean, delayMs = 0): Watch =>
  new Watch({ ttlMs, node, isHome, delayMs })

test('a queue that nobody has had is claimed', () => {
  expect(watch('b', false).look({ ...owned, nonce: undefined }, 0)).toBe('claim')
})

test('an owner whose beat moves keeps its queue', () => {
  const other = watch('b', false)
  expect(other.look(owned, 0)).toBe('wait')
  expect(other.look({ ...owned, beat: 8 }, 10)).toBe('owned')
})

test('an owner that is silent for a ttl has lost its queue, one without connections in half of that', () => {
  const other = watch('b', false)
  other.look(owned, 0)
  expect(other.look(owned, ttlMs - 1)).toBe('wait')
  expect(other.look(owned, ttlMs)).toBe('claim')
  const gone = watch('b', false)
  gone.look({ ...owned, isConnected: false }, 0)
  expect(gone.look({ ...owned, isConnected: false }, ttlMs / 2 - 1)).toBe('wait')
  expect(gone.look({ ...owned, isConnected: false }, ttlMs / 2)).toBe('claim')
})

test('silence before a look that counts for nothing does not count', () => {
  const other = watch('b', false)
  other.look(owned, 0)
  other.forget()
  expect(other.look(owned, ttlMs)).toBe('wait')
  expect(other.look(owned, 2 * ttlMs)).toBe('claim')
})

test('an adopter waits its delay beyond that', () => {
  const other = watch('b', false, 300)
  other.look(owned, 0)
  expect(other.look(owned, ttlMs + 299)).toBe('wait')
  expect(other.look(owned, ttlMs + 300)).toBe('claim')
})

test('the home node takes its queue back from another node at once', () => {
  expect(watch('home', true).look(owned, 0)).toBe('claim')
})

test('a process of the same name is fenced only when it is gone, or silent for half a ttl', () => {
  const second = watch('a', true)
  expect(second.look(owned, 0)).toBe('wait')
  expect(second.look({ ...owned, beat: 8 }, 100)).toBe('owned')
  expect(watch('a', true).look({ ...owned, isConnected: false }, 0)).toBe('claim')
  const silent = watch('a', true)
  silent.look(owned, 0)
  expect(silent.look(owned, ttlMs / 2)).toBe('claim')
})
