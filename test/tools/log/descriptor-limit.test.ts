/** How many descriptors the relay may need, and how many the system lets it have. */
import { expect, test } from 'vitest'
import { descriptorLimitOf, descriptorsNeeded } from '../../../tools/commands/log/descriptor-limit.js'

test('strangers have as many sessions as trusted clients, and an attempt takes two descriptors', () => {
  const without = descriptorsNeeded(500, new Map())
  expect(descriptorsNeeded(501, new Map()) - without).toBe(2)
  expect(descriptorsNeeded(500, new Map([['smtp', 100]])) - without).toBe(200)
})

test('transports that only answer take none', () => {
  expect(descriptorsNeeded(500, new Map([['error', 100]]))).toBe(descriptorsNeeded(500, new Map()))
})

test.each([
  ['Max open files            1024                 4096                 files     ', 1024],
  ['Max open files            unlimited            unlimited            files     ', undefined],
  ['', undefined],
])('the limit is the soft one, where there is one: %j', (line, limit) => {
  const limits = `Max processes             31000                31000                processes \n${line}\n`
  expect(descriptorLimitOf(limits)).toBe(limit)
})
