import { expect, test } from 'vitest'
import { refusalOf } from '../../../src/relay/tables/route-verdict.js'
import { routesIn } from '../../../tools/commands/tables/route-table.js'

const direct = { findsMailHosts: true, hasMaildirs: false }

const table = routesIn(
  [
    '# where             how',
    'root@example.net    ops:',
    'Example.NET         :[mail.internal]:2525',
    '.example.net        slow:example.org',
    '.b.example.net      :',
    'xn--exmple-cua.org  smtp:[192.0.2.1]',
    '[192.0.2.1]         slow:[10.0.0.1]',
    '*                   slow:',
    '',
  ].join('\r\n'),
  'routes',
  direct,
)

test.each([
  ['ada@example.net', '', '[mail.internal]:2525'],
  ['ROOT@EXAMPLE.NET.', 'ops', ''],
  ['ada@a.example.net', 'slow', 'example.org'],
  ['ada@a.b.example.net', '', ''],
  ['ada@b.example.net', 'slow', 'example.org'],
  ['ada@exämple.org', 'smtp', '[192.0.2.1]'],
  ['ada@myexample.net', 'slow', ''],
  ['"a@example.net"@example.com', 'slow', ''],
  ['ada@[192.0.2.1]', 'slow', '[10.0.0.1]'],
])('%s goes by the narrowest line for it', (recipient, transport, nexthop) => {
  expect(table.find(recipient)).toEqual({ transport, nexthop })
})

test('an address without a line goes as without the table', () => {
  expect(routesIn('.example.net a:', 'routes', direct).find('ada@example.net')).toBeUndefined()
})

test('with extensions an address has its own line, then the one without, then its domain’s', () => {
  const lines = 'ada@example.net a:\nada+x@example.net b:\nexample.net c:\n*  d:'
  const by = (delimiters: string, recipient: string): string | undefined =>
    routesIn(lines, 'routes', { ...direct, delimiters }).find(recipient)?.transport
  const recipients = ['Ada+X@example.net', 'ada+y@example.net', 'eve+y@example.net', 'ada+y@example.org']
  expect(recipients.map((recipient) => by('+', recipient))).toEqual(['b', 'a', 'c', 'd'])
  expect(recipients.map((recipient) => by('', recipient))).toEqual(['b', 'c', 'c', 'd'])
})

test('transports are those that are named, without the usual one, that of LMTP, and those that lead nowhere', () => {
  expect([...table.transports.keys()]).toEqual(['lmtp', 'error', 'retry', 'discard', 'ops', 'slow'])
})

test.each([
  ['example.net', /PATTERN NAME:NEXTHOP/],
  ['example.net smtp [a]', /PATTERN NAME:NEXTHOP/],
  ['@example.net a:', /@example\.net is no domain, no address and not \*/],
  ['.. a:', /no domain/],
  ['example.net a:\nEXAMPLE.net b:', /line 2.*has a line above|has a line above.*line 2/],
  ['example.net default:', /default is no name/],
  ['example.net Slow:', /Slow is no name/],
  ['example.net error:4.1.1 later', /a status behind error: begins with 5.*line 1/],
  ['example.net hold:spam', /behind hold: stands nothing/],
  ['example.net reject:', /reject is an action of Postfix's access tables/],
  ['example.net qmgr:', /qmgr is no name for a transport/],
  ['example.net minimal:', /minimal is no name for a transport/],
  ['example.net crowded:', /crowded is no name for a transport/],
  ['example.net retry:5.1.1', /a status behind retry: begins with 4/],
  ['example.net discard:2.0.0', /what is discarded has no status/],
  ['example.net error:zurück', /ASCII/],
  ['lists.example.net mailman:', /mailman is not here: .* maildir:/],
  ['example.net maildir:', /maildir is not here without --maildir/],
  ['example.net slow:[a]:0', /\[a\]:0 is no nexthop/],
  ['example.net slow:[a', /\[a is no nexthop/],
  // What its writer took for a pattern, or for a server.
  ['*.example.net a:', /\*\.example\.net is no domain/],
  ['/^a@/ a:', /no domain/],
  ['example..net a:', /no domain/],
  ['example.net, a:', /no domain/],
  ['<> a:', /no domain/],
  ['a@b@example.net a:', /no domain/],
  ['example.net lmtp:', / is no nexthop behind 'lmtp:': that is unix:\/PATH, or \[HOST\], or \[HOST\]:PORT/],
  ['example.net lmtp:unix:private/lmtp', /unix:private\/lmtp is no nexthop behind 'lmtp:'/],
  ['example.net lmtp:inet:24', /inet:24 is no nexthop behind 'lmtp:'/],
  ['example.net mailhub:25', /25 is no nexthop behind 'mailhub:'/],
  ['example.net :[192.0.2.256]', /is no nexthop/],
  ['example.net :a,b', /a,b is no nexthop/],
  ['example.net slow:#', /# is no nexthop/],
])('%j is refused with its line', (text, says) => {
  expect(() => routesIn(text, '/etc/routes', direct)).toThrow(says)
})

test('where nobody looks for mail hosts, a domain is no nexthop', () => {
  const toRelay = { findsMailHosts: false, hasMaildirs: false }
  expect(() => routesIn('example.net :mail.example.net:26', 'routes', toRelay)).toThrow(
    /mail\.example\.net:26 .*--direct.*brackets.*line 1/,
  )
  for (const nexthop of ['[mail.example.net]:26', '192.0.2.1', ''])
    expect(routesIn(`example.net :${nexthop}`, 'routes', toRelay).find('a@example.net')?.nexthop).toBe(
      nexthop,
    )
})

test.each(['unix:/run/dovecot/lmtp', '[127.0.0.1]:24', 'inet:mail.internal:2424', 'mail.internal'])(
  'a server of LMTP is %s, with a relay, too',
  (server) => {
    const ways = { findsMailHosts: false, hasMaildirs: false }
    const routes = routesIn(`example.net lmtp:${server}`, 'routes', ways)
    expect(routes.find('ada@example.net')).toEqual({ transport: 'lmtp', nexthop: server })
  },
)

test('where there are Maildirs a line names them, and no nexthop; their transport is there before the line', () => {
  const ways = { findsMailHosts: true, hasMaildirs: true }
  const withMaildirs = routesIn('example.net maildir:\nexample.org slow:', 'routes', ways)
  expect(withMaildirs.find('ada@example.net')).toEqual({ transport: 'maildir', nexthop: '' })
  expect([...withMaildirs.transports.keys()]).toEqual([
    'maildir',
    'lmtp',
    'error',
    'retry',
    'discard',
    'slow',
  ])
  expect(routesIn('', 'routes', ways).transports.has('maildir')).toBe(true)
  expect(() => routesIn('example.net maildir:[a]', 'routes', ways)).toThrow(
    /\[a\] is no nexthop behind 'maildir:': a Maildir has none.*line 1/,
  )
})

test('a line that leads nowhere says with which words, and those that return mail say it at the door, too', () => {
  const lines = [
    'example.net error:5.1.2   moved to example.org: write there',
    'ada@example.net :',
    'bob@example.net retry:4.3.2 until Monday',
    'eve@example.net discard:',
    '.example.net error:',
  ]
  const routes = routesIn(lines.join('\n'), 'routes', { ...direct, delimiters: '+' })
  expect(routes.find('grace@example.net')).toEqual({
    transport: 'error',
    nexthop: '5.1.2 moved to example.org: write there',
  })
  expect(routes.find('bob@example.net')).toEqual({ transport: 'retry', nexthop: '4.3.2 until Monday' })
  expect(routes.find('eve@example.net')).toEqual({ transport: 'discard', nexthop: 'discarded' })
  const told = ['grace', 'ada', 'ada+x', 'bob', 'eve'].map(
    (name) => refusalOf(routes.refused, `${name}@example.net`)?.status,
  )
  expect(told).toEqual(['5.1.2', undefined, undefined, undefined, undefined])
  expect(refusalOf(routes.refused, 'ada@a.example.net')).toEqual({
    status: '5.0.0',
    text: 'mail for this address is not taken',
  })
})

test('mail for a line with hold: is held at the door, and goes as without the line behind it', () => {
  const routes = routesIn('spam.example hold:\nok@spam.example slow:\n', 'routes', direct)
  expect(['eve@spam.example', 'ok@spam.example', 'a@example.net'].map((to) => routes.holds(to))).toEqual([
    true,
    false,
    false,
  ])
  expect(routes.find('eve@spam.example')).toEqual({ transport: '', nexthop: '' })
  expect([...routes.transports.keys()]).not.toContain('hold')
})

test('a line pipe: names the command of an agent, its program by an absolute path', () => {
  const piped = routesIn('lists.example pipe:/usr/lib/agent --for "a b"\n', 'routes', direct)
  expect(piped.find('ada@lists.example')).toEqual({
    transport: 'pipe',
    nexthop: '/usr/lib/agent --for "a b"',
  })
  expect([...piped.commands]).toEqual(['/usr/lib/agent --for "a b"'])
  expect([...piped.transports.keys()]).toContain('pipe')
  for (const line of ['x.example pipe:', 'x.example pipe:agent', 'x.example pipe:/bin/x "'])
    expect(() => routesIn(line, 'routes', direct)).toThrow(/its program by an absolute path/)
})
