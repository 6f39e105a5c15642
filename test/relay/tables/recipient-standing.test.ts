/** Accepted recipients, with aliases. */
import { expect, test } from 'vitest'
import { aliasesIn } from '../../../src/relay/tables/aliases.js'
import { mayBeOfStrangers, standingBy } from '../../../src/relay/tables/recipient-standing.js'
import { relayDomainsIn, type Standing } from '../../../src/relay/tables/relay-domains.js'

const relayDomains = relayDomainsIn(
  'example.com\nada@small.example\nada@exact.example\nu%x@old.example\n',
  'domains',
)
const aliases = aliasesIn(
  [
    'info@small.example ada@small.example bob@example.net',
    'secret@small.example unlisted@small.example',
    'boss%x@small.example ada@small.example',
    '@old.example @exact.example',
    '@both.example @exact.example copy@example.net',
    '@exact.example @exact.example',
    '@away.example @elsewhere.example',
    '@one.example unlisted@small.example',
  ].join('\n'),
  'aliases',
)

test.each<[string, Standing]>([
  ['info@small.example', 'listed'],
  ['INFO@Small.Example', 'listed'],
  // What an alias stands for needs no line.
  ['secret@small.example', 'listed'],
  ['unlisted@small.example', 'unknown'],
  ['info+x@small.example', 'unknown'],
  ['any@example.com', 'listed'],
  ['bob@example.net', 'elsewhere'],
  ['any@away.example', 'listed'],
  ['any@a.away.example', 'elsewhere'],
  ['any@elsewhere.example', 'elsewhere'],
  ['any@one.example', 'listed'],
  ['unlisted@one.example', 'listed'],
  ['postmaster', 'listed'],
])('%s is %s', (recipient, standing) => {
  expect(standingBy({ relayDomains, aliases }, recipient, 'elsewhere')).toBe(standing)
})

test.each<[string, Standing]>([
  ['ada@old.example', 'listed'],
  ['eve@old.example', 'unknown'],
  ['postmaster@old.example', 'listed'],
  ['eve@exact.example', 'unknown'],
  ['ada@exact.example', 'listed'],
  // One of them is there.
  ['eve@both.example', 'listed'],
])('a user that is not there is not there under another domain either: %s is %s', (recipient, standing) => {
  expect(standingBy({ relayDomains, aliases }, recipient, 'elsewhere')).toBe(standing)
})

test.each<[string, Standing]>([
  ['user%example.net@away.example', 'elsewhere'],
  ['example.net!user@away.example', 'elsewhere'],
  ['"user@example.net"@away.example', 'elsewhere'],
  ['user%example.net@one.example', 'elsewhere'],
  // A line says so: one of either table.
  ['boss%x@small.example', 'listed'],
  ['u%x@old.example', 'listed'],
])('what says where it goes from there is not taken for a domain: %s is %s', (recipient, standing) => {
  expect(standingBy({ relayDomains, aliases }, recipient, 'elsewhere')).toBe(standing)
})

test.each<[string, Standing]>([
  ['ada+x@small.example', 'listed'],
  ['Ada+x+y@Small.Example', 'listed'],
  ['eve+x@small.example', 'unknown'],
  ['info+x@small.example', 'listed'],
  ['info+x@elsewhere.example', 'elsewhere'],
  ['eve+x@old.example', 'unknown'],
  ['ada+x@old.example', 'listed'],
  // 1. its server trusts us, and reads `ada+x@example.net`
  ['ada+x%example.net@small.example', 'elsewhere'],
  ['info+x%example.net@small.example', 'unknown'],
  ['example.net!ada+x@small.example', 'unknown'],
])('with extensions, a user that is there without one is there: %s is %s', (recipient, standing) => {
  const domains = relayDomainsIn('ada@small.example\nada@exact.example\n', 'domains', '+')
  const table = aliasesIn('info@small.example ada@small.example\n@old.example @exact.example', 'aliases', '+')
  expect(standingBy({ relayDomains: domains, aliases: table }, recipient, 'elsewhere')).toBe(standing)
})

test('with extensions a stranger may have written to those of what a table names', () => {
  const domains = relayDomainsIn('ada@small.example', 'domains', '+')
  const table = aliasesIn('info@small.example bob@example.net', 'aliases', '+')
  const may = (...recipients: string[]): boolean =>
    mayBeOfStrangers({ relayDomains: domains, aliases: table }, recipients, 'mail.example')
  expect(may('bob+x@example.net', 'ada+x@small.example')).toBe(true)
  expect(may('carol+bob@example.net')).toBe(false)
})

test.each<Standing>(['listed', 'elsewhere'])(
  'without a table of domains all others are as usual: %s',
  (usual) => {
    expect(standingBy({ aliases }, 'info@small.example', usual)).toBe('listed')
    expect(standingBy({ aliases }, 'any@old.example', usual)).toBe('listed')
    expect(standingBy({ aliases }, 'any@small.example', usual)).toBe(usual)
    expect(standingBy({}, 'info@small.example', usual)).toBe(usual)
  },
)

test.each([
  [['bob@example.net'], true],
  [['Bob@Example.NET', 'any@example.com'], true],
  [['any@elsewhere.example'], true],
  [['bob@example.net', 'carol@example.net'], false],
  [['any@away.example'], false],
])('a stranger may have written to %j: %s', (recipients, may) => {
  expect(mayBeOfStrangers({ relayDomains, aliases }, recipients, 'mail.example')).toBe(may)
})

test('a stranger may have written to what aliases stand for without a table of domains, and to nobody without aliases', () => {
  expect(mayBeOfStrangers({ aliases }, ['bob@example.net'], 'mail.example')).toBe(true)
  expect(mayBeOfStrangers({ aliases }, ['any@example.com'], 'mail.example')).toBe(false)
  expect(mayBeOfStrangers({}, ['postmaster@mail.example'], 'mail.example')).toBe(false)
})
