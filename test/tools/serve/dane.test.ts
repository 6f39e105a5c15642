/** `waybill serve --dane`, as a separate process with its own DNS. */
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import { pino } from 'pino'
import { beforeEach, expect, test } from 'vitest'
import { parseArguments, type Arguments } from '../../../tools/commands/cli/command.js'
import { daneOf, tellProofs } from '../../../tools/commands/serve/dane.js'
import { serve } from '../../../tools/commands/serve/serve.js'
import { startedRelay } from '../../end-to-end/relay-process.js'
import { shown, tlsa, x509 } from '../../relay/dane-certificates.js'
import { addressOf, tlsaEntry } from '../../relay/dane-domain.js'
import { dnsServer, type Entries, type FakeDnsServer } from '../../relay/dns-server.js'
import { tlsServer } from '../../relay/tls-server.js'
import { runWaybill } from '../command-process.js'
import { temporaryDirectory } from '../../temporary-directory.js'

let directory: string
beforeEach(async () => {
  directory = await temporaryDirectory('dane')
})

const mx = 'mx.example.net'

test('mail waits for the server that the records name, and the log says why', async () => {
  const server = await tlsServer(shown('mx'))
  const owner = `_${server.port}._tcp.${mx}`
  const { server: dns, entries } = await dnsServer({
    'SOA .': { isProven: true },
    [`A ${mx}`]: { answers: [addressOf(mx, '127.0.0.1')], isProven: true },
    [`AAAA ${mx}`]: { isProven: true },
    [`TLSA ${owner}`]: tlsaEntry(owner, [tlsa('3 1 1', x509('root'))]),
  })
  await writeFile(join(directory, 'routes'), `example.net :[${mx}]:${server.port}\n`)
  const queue = ['--queue', join(directory, 'queue')]
  const relay = await startedRelay([
    '--direct',
    '--dane',
    'yes',
    '--dane-server',
    `127.0.0.1:${dns.port}`,
    '--routes',
    join(directory, 'routes'),
    '--retry',
    '1h',
    ...queue,
  ])
  await expect.poll(() => relay.log).toMatch(/"resolver":"127\.0\.0\.1:\d+","msg":"a resolver for DANE"/)
  await createTransport({ port: relay.endpoint.port, ignoreTLS: true }).sendMail({
    from: 'ada@example.org',
    to: 'one@example.net',
    text: 'x',
  })
  await expect
    .poll(() => relay.log)
    .toMatch(
      /"status":"4\.7\.5"[^\n]*matches no TLSA record of _\d+\._tcp\.mx\.example\.net[^\n]*"msg":"deferred"/,
    )
  entries[`TLSA ${owner}`] = tlsaEntry(owner, [tlsa('3 1 1', x509('mx'))])
  await runWaybill(['flush', ...queue, '--all'], { directory })
  await expect.poll(() => server.taken.map(({ secure }) => secure)).toEqual([true])
})

const argumentsOf = (...args: string[]): Arguments => parseArguments(serve, ['--direct', ...args])

async function linesOf(
  entries: Entries,
  args: string[],
  levels: readonly ('dane' | 'verify')[] = [],
): Promise<string[]> {
  const dns: FakeDnsServer = await dnsServer(entries)
  const lines: string[] = []
  const log = pino({ base: null }, { write: (line: string) => lines.push(line) })
  const policy = { lines: levels.map((level) => ({ destination: 'example.net', level })) }
  const server = ['--dane-server', `127.0.0.1:${dns.server.port}`]
  await tellProofs(argumentsOf(...args, ...server), policy, log)
  return lines
}

test.each<[string, Entries, RegExp]>([
  ['proves something', { 'SOA .': { isProven: true } }, /"level":30.*a resolver for DANE/],
  ['proves nothing', { 'SOA .': {} }, /"level":40.*it does not validate.*no resolver for DANE/],
  ['fails', { 'SOA .': { rcode: 5 } }, /"level":40.*it does not answer: EREFUSED.*no resolver/],
])('a resolver that %s is told of', async (_, entries, says) => {
  expect(await linesOf(entries, ['--dane', 'yes'])).toEqual([expect.stringMatching(says)])
})

test('a relay that asks no resolver logs none, and one line of the table asks', async () => {
  const policy = ['--tls-policy', 'x']
  expect(await linesOf({}, ['--dane', 'no'])).toEqual([])
  expect(await linesOf({}, policy, ['verify'])).toEqual([])
  expect(await linesOf({}, policy, ['verify', 'dane'])).toHaveLength(1)
})

test('resolvers of the system that are elsewhere are told of', async () => {
  const lines: string[] = []
  const log = pino({ base: null }, { write: (line: string) => lines.push(line) })
  await tellProofs(argumentsOf('--dane', 'yes'), { lines: [] }, log, () => [
    { address: '192.0.2.1', port: 53, isTrusted: false },
  ])
  expect(lines).toEqual([
    expect.stringMatching(/"192\.0\.2\.1:53".*not on this machine.*no resolver for DANE/),
  ])
})

test('it is off by default', () => {
  for (const args of [[], ['--dane', 'no']]) expect(daneOf(argumentsOf(...args))).toEqual({ dane: false })
  expect(daneOf(argumentsOf('--dane', 'yes', '--dane-server', '[::1]:5353'))).toEqual({
    dane: true,
    daneServers: ['[::1]:5353'],
  })
})

test.each([
  [['--relay', 'a', '--dane', 'yes'], /--dane is for mail that goes to the servers of each domain/],
  [['--dane', 'no'], /--dane is for mail that goes to the servers of each domain/],
  [['--relay', 'a', '--dane-server', '::1'], /--dane-server is for mail that goes to the servers/],
  [['--direct', '--dane', 'only'], /--dane takes yes or no, not 'only'/],
  [['--direct', '--dane-server', '127.0.0.1'], /--dane-server is for --dane yes, or lines of --tls-policy/],
  [['--direct', '--dane', 'yes', '--dane-server', 'localhost'], /--dane-server takes ADDRESS .*'localhost'/],
  [
    ['--direct', '--dane', 'yes', ...Array.from({ length: 4 }, () => ['--dane-server', '127.0.0.1']).flat()],
    /--dane-server may be there 3 times/,
  ],
])('wrong options are refused before anything is opened: %j', async (args, says) => {
  const ended = await runWaybill(['serve', '--queue', join(directory, 'queue'), ...args], { directory })
  expect(ended).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(says) as string })
  expect(await readdir(directory)).not.toContain('queue')
})
