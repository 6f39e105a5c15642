/** URLs of stores with passwords: refused on command lines, and shown nowhere. */
import { expect, test } from 'vitest'
import { hasPassword, shownQueue } from '../../../tools/commands/cli/shown-queue.js'

test.each([
  ['postgres://u:pw@h/d', 'postgres://u@h/d'],
  ['postgres://u@h/d?password=pw', 'postgres://u@h/d?'],
  ['postgres://u@h/d?password=pw&queue=q', 'postgres://u@h/d?queue=q'],
  ['postgres://u@h/d?queue=q&password=pw', 'postgres://u@h/d?queue=q&'],
])('%s is seen to have a password, and shown without it', (url, shown) => {
  expect(hasPassword(url)).toBe(true)
  expect(shownQueue(url)).toBe(shown)
})

test.each(['postgres://u@h/d?queue=q', './queue', '/a:b@c'])('%s has none', (place) => {
  expect(hasPassword(place)).toBe(false)
  expect(shownQueue(place)).toBe(place)
})
