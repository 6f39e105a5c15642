import { expect, test } from 'vitest'
import type { TlsaData } from '../../../src/relay/dns/dns-message.js'
import { matches, usableRecords } from '../../../src/relay/tls/tlsa-record.js'
import { tlsa, x509 } from '../dane-certificates.js'

const mx = x509('mx')

test.each(
  [0, 1, 2, 3, 4, 255].flatMap((usage) =>
    [0, 1, 2].flatMap((selector) => [0, 1, 2, 3].map((type) => [usage, selector, type] as const)),
  ),
)(
  'of what can be said, that is usable which mail servers can be known by: %i %i %i',
  (usage, selector, type) => {
    const data = tlsa(`${usage} ${selector} ${type}`, mx)
    const isUsable = (usage === 2 || usage === 3) && selector < 2 && type < 3
    expect(usableRecords([data])).toHaveLength(isUsable ? 1 : 0)
  },
)

const cut = (data: TlsaData): TlsaData => ({ ...data, certificate: data.certificate.subarray(1) })
const longer = (data: TlsaData): TlsaData => ({
  ...data,
  certificate: Buffer.concat([data.certificate, Buffer.alloc(1)]),
})

const forms = ['3 0 0', '3 0 1', '3 0 2', '3 1 0', '3 1 1', '3 1 2', '2 0 0', '2 1 0'] as const

test.each(forms)('what is less than it says it is is not usable: %s', (form) => {
  expect(usableRecords([cut(tlsa(form, mx))])).toEqual([])
  expect(usableRecords([{ ...tlsa(form, mx), certificate: Buffer.alloc(0) }])).toEqual([])
})

test.each(forms)('nor what is more: %s', (form) => {
  expect(usableRecords([longer(tlsa(form, mx))])).toEqual([])
})

test.each(['3 0 0', '3 0 1', '3 0 2', '3 1 0', '3 1 1', '3 1 2'] as const)(
  'a record matches its certificate, and no other: %s',
  (form) => {
    const [record] = usableRecords([tlsa(form, mx)])
    expect(matches(record!, mx)).toBe(true)
    // Of the same key.
    expect(matches(record!, x509('domain'))).toBe(form.startsWith('3 1'))
    expect(matches(record!, x509('issuer'))).toBe(false)
  },
)

const formsLeft = (...data: readonly TlsaData[]): string[] =>
  usableRecords(data).map(({ of, what, digest }) => `${of} ${what} ${digest ?? 'all'}`)

test('beside a better digest of the same kind a weaker one says nothing', () => {
  expect(formsLeft(tlsa('3 1 1', mx), tlsa('3 1 2', mx), tlsa('3 1 0', mx))).toEqual([
    'server key sha512',
    'server key all',
  ])
  for (const other of ['3 0 2', '2 1 2', '1 1 2', '3 1 0'] as const)
    expect(formsLeft(tlsa('3 1 1', mx), tlsa(other, mx))).toContain('server key sha256')
  expect(formsLeft(tlsa('3 1 1', mx), cut(tlsa('3 1 2', mx)))).toEqual(['server key sha256'])
})

test('no more than a hundred records are looked at', () => {
  const [first] = [tlsa('3 1 1', mx)]
  expect(usableRecords(Array.from({ length: 1000 }, () => first))).toHaveLength(100)
})
