/** Buffers within what is compared. */
import { expect, test } from 'vitest'

test('Buffers are equal when all their octets are, and only then', () => {
  const whole = Buffer.from('octets')
  expect({ whole }).toEqual({ whole: Buffer.from('octets') })
  expect({ whole }).not.toEqual({ whole: Buffer.from('octetS') })
  expect({ whole }).not.toMatchObject({ whole: Buffer.from('octetS') })
  expect([whole]).not.toStrictEqual([whole.subarray(1)])
})

test('of what is no Buffer nothing is said anew', () => {
  expect(new Uint8Array([1, 2])).not.toEqual(new Uint8Array([1, 3]))
  expect(Buffer.from('ab')).not.toEqual('ab')
})
