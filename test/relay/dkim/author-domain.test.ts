import { expect, test } from 'vitest'
import { processorMs } from '../../processor-time.js'
import { authorDomain } from '../../../src/relay/dkim/author-domain.js'
import { headerFields } from '../../../src/base/header.js'

const domainIn = (header: string): string | undefined => authorDomain(headerFields(Buffer.from(header))!)

test.each([
  'ada@example.org',
  ' ada@example.org ',
  '<ada@example.org>',
  'Ada <ada@example.org>',
  'Ada Lovelace\r\n\t<ada@example.org>',
  'ada@EXAMPLE.Org.',
  '"Lovelace, Ada" <ada@example.org>',
  '"x@evil.example" <ada@example.org>',
  '"\\"<x@evil.example>," <ada@example.org>',
  'x@evil.example <ada@example.org>',
  '"x@evil.example"@example.org',
  '"a<b>c"@example.org (quoted)',
  'ada@example.org (Ada (Countess) x@evil.example \\) )',
  '(x@evil.example) ada@example.org',
  'Ada (<x@evil.example>) <ada@example.org>',
  '=?utf-8?q?x=40evil=2Eexample?= <ada@example.org>',
  '=?utf-8?q?Ada=2C?= <ada@example.org>',
  'J\u00f6rg <j\u00f6rg@example.org>',
])('From: %s is of example.org', (value) => {
  expect(domainIn(`From: ${value}\r\n`)).toBe('example.org')
})

test.each([
  ['an address in two scripts', 'ada@b\u00fccher.example', 'xn--bcher-kva.example'],
  ['an A-label', 'ada@XN--bcher-kva.example', 'xn--bcher-kva.example'],
  ['a full stop of other letters', 'ada@example\u3002org', 'example.org'],
])('the domain of %s is as the DNS has it', (_, value, domain) => {
  expect(domainIn(`From: ${value}\r\n`)).toBe(domain)
})

test.each([
  ['nothing', ''],
  ['an empty path', '<>'],
  ['no domain', 'ada'],
  ['two addresses', 'ada@example.org, x@evil.example'],
  ['two in brackets', '<ada@example.org> <x@evil.example>'],
  ['an address behind the brackets', '<ada@example.org> x@evil.example'],
  ['two behind one another', 'ada@example.org x@evil.example'],
  ['two, one in the name', 'Ada, PhD <ada@example.org>'],
  ['a group', 'us: ada@example.org;'],
  ['an empty group', 'undisclosed:;'],
  ['a group of two', 'us: ada@example.org, x@evil.example;'],
  ['a route', '<@evil.example:ada@example.org>'],
  ['a semicolon', 'ada@example.org; x@evil.example'],
  ['two signs', 'x@evil.example@example.org'],
  ['a comment within the domain', 'ada@evil.example(x).example.org'],
  ['blanks within the domain', 'ada@evil .example.org'],
  ['a quotation without an end', '"ada <ada@example.org>'],
  ['a comment without an end', 'ada@example.org (x'],
  ['an end of a comment without its beginning', 'Ada) <ada@example.org>'],
  ['brackets without an end', '<ada@example.org'],
  ['an end of brackets without their beginning', 'ada@example.org>'],
  ['brackets within brackets', '<<ada@example.org>>'],
  ['a backslash outside of a quotation', 'Ada \\" <ada@example.org>'],
  ['an encoded address', '=?utf-8?q?ada=40example=2Eorg?='],
])('From: with %s has no author', (_, value) => {
  expect(domainIn(`From: ${value}\r\n`)).toBeUndefined()
})

test.each([
  ['an address literal', 'ada@[192.0.2.1]', '[192.0.2.1]'],
  ['what has no form in the DNS', 'ada@exa\ufffdmple.org', ''],
])('%s is no domain that a key could have', (_, value, domain) => {
  expect(domainIn(`From: ${value}\r\n`)).toBe(domain)
})

test('without a From field, or with two, there is no author', () => {
  expect(domainIn('To: ada@example.org\r\nSender: ada@example.org\r\n')).toBeUndefined()
  expect(domainIn('From: ada@example.org\r\nfrom : ada@example.org\r\n')).toBeUndefined()
})

test('a blank before the colon, and any case, leave it a From field', () => {
  expect(domainIn('FROM : ada@example.org\r\n')).toBe('example.org')
})

test('a From field of many quotations, brackets or comments is read in no time', () => {
  const tookMs = processorMs(() => {
    for (const part of ['"', '(', '<', '\\', '""', '"\\', 'a "b" '])
      expect(domainIn(`From: ${part.repeat(100_000)}\r\n`)).toBeUndefined()
  })
  expect(tookMs).toBeLessThan(2000)
})
