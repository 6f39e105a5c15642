/** What a table of relay domains says of a recipient. */
import { expect, test } from 'vitest'
import { mayBeOfStrangers } from '../../../src/relay/tables/recipient-standing.js'
import { relayDomainsIn, standingOf, type Standing } from '../../../src/relay/tables/relay-domains.js'

const domains = relayDomainsIn(
  [
    '# ours',
    'Example.COM',
    '.example.com',
    ' ada@Small.Example ',
    'Grace@small.example',
    'b@closed.example.com',
    'xn--exmple-cua.org',
    'lists%x@example.org',
    '"a@b.example"@example.org',
    // The domain has a line, too.
    'ada@example.com',
    '',
  ].join('\r\n'),
  'domains',
)

test.each<[string, Standing]>([
  ['anyone@example.com', 'listed'],
  ['ANYONE@EXAMPLE.com', 'listed'],
  ['anyone@a.b.example.com', 'listed'],
  ['anyone@myexample.com', 'elsewhere'],
  ['anyone@com', 'elsewhere'],
  ['ADA@small.example', 'listed'],
  ['grace@small.example', 'listed'],
  ['"grace"@small.example', 'listed'],
  ['"no one"@small.example', 'unknown'],
  ['eve@small.example', 'unknown'],
  ['adam@small.example', 'unknown'],
  ['ada@a.small.example', 'elsewhere'],
  ['b@closed.example.com', 'listed'],
  ['a@closed.example.com', 'unknown'],
  ['ada@exämple.org', 'listed'],
  ['ada@xn--exmple-cua.org', 'listed'],
  ['ada@[192.0.2.1]', 'elsewhere'],
])('%s is %s', (recipient, standing) => {
  expect(standingOf(domains, recipient)).toBe(standing)
})

test.each<[string, Standing]>([
  ['postmaster', 'listed'],
  ['Postmaster@Small.Example', 'listed'],
  ['postmaster@closed.example.com', 'listed'],
  ['postmaster@example.com', 'listed'],
  ['postmaster@elsewhere.example', 'elsewhere'],
  ['postmaster@a.small.example', 'elsewhere'],
])('of every domain with a line there is a postmaster: %s is %s', (recipient, standing) => {
  expect(standingOf(domains, recipient)).toBe(standing)
})

test.each<[string, Standing]>([
  ['user%elsewhere.example@example.com', 'elsewhere'],
  ['elsewhere.example!user@example.com', 'elsewhere'],
  ['"user@elsewhere.example"@example.com', 'elsewhere'],
  ['user%elsewhere.example@small.example', 'unknown'],
  ['user%example.com@elsewhere.example', 'elsewhere'],
  ['"user@example.com"@elsewhere.example', 'elsewhere'],
  ['postmaster%elsewhere.example@example.com', 'elsewhere'],
  // A line that says so means it.
  ['lists%x@example.org', 'listed'],
  ['"a@b.example"@example.org', 'listed'],
])('what says where it goes from there is not taken for a domain: %s is %s', (recipient, standing) => {
  expect(standingOf(domains, recipient)).toBe(standing)
})

test.each([
  ['', /there is no domain .*option relay-domains, path \/etc\/domains/],
  ['# nothing\n\n', /there is no domain/],
  ['example.com\n\nexample.com OK', /example\.com OK is no domain and no address.*\/etc\/domains, line 3/],
  ['*', /no domain/],
  ['@example.com', /no domain/],
  ['.', /no domain/],
  ['user@.example.com', /no domain/],
  ['[192.0.2.1]', /\[192\.0\.2\.1\] is no domain/],
  ['user@[192.0.2.1]', /no domain/],
  ['example..com', /no domain/],
  ['example.com,example.net', /no domain/],
  ['example.com\tOK', /example\.com\tOK is no domain/],
  ['ada@example.com\tOK', /no domain/],
  ['exämple.org\tOK', /no domain/],
  ['exämple.org/24', /no domain/],
  ['exämple.org#ours', /no domain/],
  ['exämple.org?', /no domain/],
  ['ada@exämple.org/24', /no domain/],
  ['ada@ex%61mple.ö', /no domain/],
  ['example.com\nEXAMPLE.com.', /EXAMPLE\.com\. has a line above.*line 2/],
  ['ada@example.com\nADA@example.com', /has a line above/],
  ['exämple.org\nxn--exmple-cua.org', /has a line above/],
])('%j is refused with its line', (text, says) => {
  expect(() => relayDomainsIn(text, '/etc/domains')).toThrow(says)
  expect(() => relayDomainsIn(text, '/etc/domains')).toThrow(
    expect.objectContaining({ code: 'OPTION_INVALID' }),
  )
})

test.each([
  [['anyone@example.com', 'ada@small.example'], true],
  [['Postmaster@Mail.Example'], true],
  // There was such a user when the table was another.
  [['eve@small.example'], true],
  [['anyone@example.com', 'anyone@elsewhere.example'], false],
  [['anyone@mail.example'], false],
])('a stranger may have written to %j: %s', (recipients, may) => {
  expect(mayBeOfStrangers({ relayDomains: domains }, recipients, 'mail.example')).toBe(may)
})
