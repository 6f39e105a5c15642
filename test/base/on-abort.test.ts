import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { onAbort } from '../../src/base/on-abort.js'

const listenerCount = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length

test('all who wait are called, in the order in which they came, though one of them ends the waiting of another', () => {
  const controller = new AbortController()
  const called: string[] = []
  onAbort(controller.signal, () => {
    called.push('first')
    endThird()
  })
  onAbort(controller.signal, () => void called.push('second'))
  const endThird = onAbort(controller.signal, () => void called.push('third'))
  controller.abort()
  expect(called).toEqual(['first', 'second'])
})

test('a waiter that ends its own wait ends no other', () => {
  const controller = new AbortController()
  const called: string[] = []
  const end = onAbort(controller.signal, () => void called.push('first'))
  onAbort(controller.signal, () => void called.push('second'))
  end()
  controller.abort()
  expect(called).toEqual(['second'])
})

test('a signal has one listener while anybody waits, and none when nobody does', () => {
  const { signal } = new AbortController()
  const ends = Array.from({ length: 20 }, () => onAbort(signal, () => undefined))
  expect(listenerCount(signal)).toBe(1)
  for (const end of ends) end()
  expect(listenerCount(signal)).toBe(0)
  ends[0]!()
  onAbort(signal, () => undefined)
  ends[1]!()
  expect(listenerCount(signal)).toBe(1)
})
