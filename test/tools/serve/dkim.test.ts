/** Mail that the relay signs, a separate process, and what another server has of it. */
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { parseArguments } from '../../../tools/commands/cli/command.js'
import { serve } from '../../../tools/commands/serve/serve.js'
import { transportOf } from '../../../tools/commands/serve/delivery.js'
import { dkimTableOf } from '../../../tools/commands/serve/dkim.js'
import { RelayProcess } from '../../end-to-end/relay-process.js'
import { ed25519Key, publicKeys, rsaKey } from '../../relay/dkim/dkim-fixture.js'
import { keyOfRecord, verdictsOf } from '../../relay/dkim/dkim-verifier.js'
import { deliver } from '../../relay/request.js'
import { scripted } from '../../relay/smtp-out/smtp-out-fixture.js'
import { runWaybill } from '../command-process.js'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'waybill-serve-dkim-'))
  await writeFile(join(directory, 'rsa.pem'), rsaKey.export({ type: 'pkcs8', format: 'pem' }))
  await writeFile(join(directory, 'ed25519.pem'), ed25519Key.export({ type: 'pkcs8', format: 'pem' }))
})

async function tableOf(text: string): Promise<string> {
  const path = join(directory, 'dkim')
  await writeFile(path, text)
  return path
}

test('the relay signs the mail of its domains, large or small, and its own reports', async () => {
  const server = await scripted((line) => (line.startsWith('RCPT TO:<fail@') ? '550 5.1.1 no' : undefined))
  const made = await runWaybill(['dkim-key', 'example.com', 'two', 'two.pem'], { directory })
  const record = /TXT \( ([^]*?) \)/.exec(made.stdout)![1]!.replace(/"\s+"|"/g, '')
  const table = await tableOf(
    '# domain selector key\n\nexample.org mail rsa.pem\r\n  Example.ORG\tsmall  ed25519.pem \n' +
      `${made.stdout.trim().split('\n').at(-1)}\n`,
  )
  const relay = new RelayProcess([
    '--queue',
    join(directory, 'queue'),
    '--relay',
    `${server.host}:${server.port}`,
    '--dkim',
    table,
    '--hostname',
    'relay.example.org',
  ])
  onTestFinished(async () => {
    await relay.kill()
    await rm(directory, { recursive: true })
  })
  await relay.start()
  const mailer = createTransport({ port: relay.endpoint.port, ignoreTLS: true })
  const send = (from: string, to: string, text: string): Promise<unknown> =>
    mailer.sendMail({ from, to: `${to}@example.net`, subject: 'x', text })
  await send('ada@example.org', 'small', 'Hello.\n.\n')
  await send('"Ada, news" <ada@news.example.org>', 'large', 'line of a  long message \n'.repeat(60_000))
  await send('ada@example.com', 'other', 'Hello.')
  await send('ada@example.net', 'foreign', 'Hello.')
  await send('ada@example.org', 'fail', 'Hello.')
  await expect.poll(() => server.taken.length).toBe(5)
  const keys = { ...publicKeys, 'two._domainkey.example.com': keyOfRecord(record) }
  const rightOnes = Object.fromEntries(
    server.taken.map(({ data, recipients }) => [
      recipients.join(),
      verdictsOf(data, keys).map(({ selector, isRight }) => (isRight ? selector : `${selector} is wrong`)),
    ]),
  )
  expect(rightOnes).toEqual({
    'small@example.net': ['mail', 'small'],
    'large@example.net': ['mail', 'small'],
    'other@example.net': ['two'],
    'foreign@example.net': [],
    // The report, from MAILER-DAEMON@relay.example.org.
    'ada@example.org': ['mail', 'small'],
  })
  // Of 1024 bits.
  await expect
    .poll(() => relay.log)
    .toMatch(/"level":40,[^\n]*"domain":"example\.org","selector":"mail","bits":1024/)
  expect(relay.log).not.toMatch(/"selector":"two"/)
})

test.each<[string, { direct?: true; relay?: 'server' | 'elsewhere' }]>([
  ['straight to the servers of each domain', { direct: true }],
  ['to the relay', { relay: 'server' }],
  ['elsewhere than to the relay, by a route', { relay: 'elsewhere' }],
])('mail is signed that goes %s', async (_, { direct = false, relay }) => {
  onTestFinished(() => rm(directory, { recursive: true }))
  const server = await scripted()
  const place = { host: server.host, port: server.port }
  const args = parseArguments(serve, ['--dkim', await tableOf('\ufeffexample.org mail rsa.pem\n')])
  const settings = {
    relay:
      relay === undefined ? undefined : relay === 'server' ? place : { host: 'relay.example.org', port: 25 },
    direct,
    places: [{ host: '127.0.0.1', port: 25 }],
    hostname: 'relay.example.org',
    processLimit: 1,
  }
  const transport = await transportOf(args, settings, undefined, (await dkimTableOf(args)).keys)
  onTestFinished(() => transport.close?.())
  const data = Buffer.from('From: ada@example.org\r\n\r\nHello.\r\n')
  await deliver(transport, { nexthop: `[${place.host}]:${place.port}` }, data)
  expect(verdictsOf(server.taken[0]!.data, publicKeys)).toMatchObject([{ isRight: true }])
})

const shortKey = generateKeyPairSync('rsa', { modulusLength: 1016 }).privateKey

test.each<[string, string | undefined, RegExp]>([
  ['no table', undefined, /--dkim: ENOENT.*nowhere/],
  ['no key in it', '# none\n', /there is no key \(option dkim, path .*\/dkim\)/],
  ['a line of two words', '# one\nexample.org mail\n', /DOMAIN SELECTOR KEYFILE \(.*\/dkim, line 2\)/],
  ['no domain', 'org mail rsa.pem\n', /"org" is no domain.*line 1/],
  ['no selector', 'example.org m_l rsa.pem\n', /"m_l" is no selector.*line 1/],
  ['no such file', '\nexample.org mail x.pem\n', /ENOENT.*x\.pem'.*line 2/],
  ['a file that is no key', 'example.org mail dkim\n', /no private key in PEM.*line 1/],
  ['a public key', 'example.org mail public.pem\n', /no private key in PEM.*line 1/],
  ['a key that is too short', 'example.org mail short.pem\n', /1016 bits.*RFC 8301.*line 1/],
  ['a domain twice', 'example.org a rsa.pem\nexample.org b rsa.pem\n', /already.*line 2/],
])('%s is refused before anything is opened', async (_, text, says) => {
  onTestFinished(() => rm(directory, { recursive: true }))
  await writeFile(join(directory, 'short.pem'), shortKey.export({ type: 'pkcs8', format: 'pem' }))
  await writeFile(
    join(directory, 'public.pem'),
    createPublicKey(rsaKey).export({ type: 'spki', format: 'pem' }),
  )
  const table = text === undefined ? 'nowhere' : await tableOf(text)
  const args = ['serve', '--queue', 'queue', '--relay', '127.0.0.1:9', '--dkim', table]
  const ended = await runWaybill(args, { directory })
  expect(ended).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(says) as string })
  expect(await readdir(directory)).not.toContain('queue')
})

test('mail to Maildirs is not signed: the option is refused there', async () => {
  onTestFinished(() => rm(directory, { recursive: true }))
  const table = await tableOf('example.org mail rsa.pem\n')
  const ended = await runWaybill(['serve', '--queue', 'queue', '--dkim', table], { directory })
  expect(ended).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(/--relay or --direct/) as string })
})
