/** Which part of an address is its extension. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  addressesWithin,
  areDelimiters,
  splitAddress,
  withExtension,
} from '../../../src/relay/tables/address-extension.js'

test.each([
  ['ada+lists@example.com', '+', 'ada@example.com', '+lists'],
  ['Ada+Lists@Example.COM', '+', 'Ada@Example.COM', '+Lists'],
  ['ada-a+b@example.com', '+-', 'ada@example.com', '-a+b'],
  ['ada-a+b@example.com', '+', 'ada-a@example.com', '+b'],
  ['ada+@example.com', '+', 'ada@example.com', '+'],
  ['a.b.c@ex.ample', '.', 'a@ex.ample', '.b.c'],
  ['ada+owner-x@example.com', '+-', 'ada@example.com', '+owner-x'],
  ['requests-x@example.com', '-', 'requests@example.com', '-x'],
  ['owner-x+y@example.com', '+', 'owner-x@example.com', '+y'],
  ['x+y-request@example.com', '+', 'x@example.com', '+y-request'],
  ['postmaster+x@example.com', '+', 'postmaster@example.com', '+x'],
])('%s with %j is %s and %s', (address, delimiters, bare, extension) => {
  expect(splitAddress(address, delimiters)).toEqual({ bare, extension })
})

test.each([
  ['ada+lists@example.com', ''],
  ['ada+lists@example.com', '-'],
  ['ada@ex+ample.com', '+'],
  ['+ada@example.com', '+'],
  // Postfix looks no further.
  ['+ada+lists@example.com', '+'],
  ['"ada +lists"@example.com', '+'],
  ['MAILER-daemon@example.com', '-'],
  ['Double-Bounce@example.com', '+-'],
  ['postmaster@example.com', 't'],
  ['Owner-lists@example.com', '-+'],
  ['lists-REQUEST@example.com', '-+'],
  ['lists+x-request@example.com', '-+'],
])('%s with %j has no extension', (address, delimiters) => {
  expect(splitAddress(address, delimiters)).toBeUndefined()
})

test('what was taken off and is put on again is the same address, and the name is within it', () => {
  const local = fc.stringMatching(/^[aq+-]{1,8}$/)
  fc.assert(
    fc.property(local, fc.constantFrom('+', '-', '+-'), (name, delimiters) => {
      const address = `${name}@example.com`
      const split = splitAddress(address, delimiters)
      fc.pre(split !== undefined)
      expect(withExtension(split!.bare, split!.extension)).toBe(address)
      expect([...addressesWithin(address, delimiters)]).toContain(split!.bare)
    }),
  )
})

test('an extension of a name in quotes is in them', () => {
  expect(withExtension('"a b"@example.com', '+x')).toBe('"a b+x"@example.com')
  expect([...addressesWithin('"a b+x+y"@example.com', '+')]).toEqual([
    '"a b"@example.com',
    '"a b+x"@example.com',
  ])
})

test.each([
  ['+', true],
  ['+-', true],
  ['._=', true],
  ['', false],
  ['++', false],
  ['yes', false],
  ['%', false],
  ['!', false],
  ['@', false],
  ['+ -', false],
  ['+"', false],
  ['ü', false],
  [7, false],
])('%j may stand before an extension: %s', (text, may) => {
  expect(areDelimiters(text)).toBe(may)
})
