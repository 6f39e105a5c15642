import { readdir, readFile, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import { SMTPServer } from 'smtp-server'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { type RelayProcess, startedRelay } from '../../end-to-end/relay-process.js'
import { certificate, certPath, keyPath } from '../../relay/certificate.js'
import { runWaybill, type Ended } from '../command-process.js'
import { temporaryDirectory } from '../../temporary-directory.js'

let directory: string
beforeEach(async () => {
  directory = await temporaryDirectory('serve-tls')
})

interface Submission {
  /** The user that logged in; undefined: none. */
  readonly user: string | undefined
  readonly secure: boolean
  readonly data: string
}

/** A server that asks its clients to log in as `me` with `p:w d`, or takes mail from everyone. */
async function smarthost(
  needsLogin: boolean,
): Promise<{ port: number; submissions: Submission[]; logins: string[] }> {
  const submissions: Submission[] = []
  const logins: string[] = []
  const server = new SMTPServer({
    ...certificate,
    authOptional: !needsLogin,
    logger: false,
    onAuth: ({ username = '', password = '' }, _session, done) => {
      logins.push(`${username}:${password}`)
      if (username === 'me' && password === 'p:w d') done(null, { user: username })
      else done(new Error('no'))
    },
    onData: (stream, { user, secure }, done) => {
      let data = ''
      stream.on('data', (chunk: Buffer) => (data += chunk.toString()))
      stream.on('end', () => {
        submissions.push({ user: typeof user === 'string' ? user : undefined, secure, data })
        done()
      })
    },
  })
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => server.close(() => {}))
  return { port: (server.server.address() as AddressInfo).port, submissions, logins }
}

const waybill = (args: readonly string[]): Promise<Ended> =>
  runWaybill(args, { directory, input: 'Subject: x\r\n\r\nx\r\n' })

/** With the tests' certificate as a root. */
async function served(...args: string[]): Promise<RelayProcess> {
  const relay = await startedRelay(['--queue', join(directory, 'queue'), ...args], {
    NODE_EXTRA_CA_CERTS: certPath,
  })
  return relay
}

async function secretFile(text: string): Promise<string> {
  const path = join(directory, 'secret')
  await writeFile(path, text)
  return path
}

const send = (): Promise<Ended> =>
  waybill(['sendmail', '--queue', join(directory, 'queue'), '-f', 's@example.org', 'r@example.net'])

test('the relay is told user and password, over TLS that verifies', async () => {
  const { port, submissions } = await smarthost(true)
  const relay = await served('--relay', `127.0.0.1:${port}`, '--relay-auth', await secretFile('me:p:w d\n'))
  expect(await send()).toMatchObject({ exitCode: 0 })
  await expect.poll(() => submissions).toMatchObject([{ user: 'me', secure: true }])
  expect(relay.log).not.toContain('p:w d')
})

test('a server that does not take them defers; where the mail is sent instead hears of neither', async () => {
  const first = await smarthost(true)
  const second = await smarthost(false)
  const relay = await served(
    '--relay',
    `127.0.0.1:${first.port}`,
    '--relay-auth',
    await secretFile('me:wrong'),
  )
  await send()
  await expect.poll(() => relay.log).toMatch(/"status":"4\.7\.8"[^\n]*"msg":"deferred"/)
  expect(first.submissions).toEqual([])
  expect(first.logins).toEqual(['me:wrong'])

  const all = ['--queue', join(directory, 'queue'), '--all']
  expect(await waybill(['reroute', ...all, '--to', `127.0.0.1:${second.port}`])).toMatchObject({
    exitCode: 0,
  })
  expect(await waybill(['flush', ...all])).toMatchObject({ exitCode: 0 })
  await expect.poll(() => second.submissions).toMatchObject([{ user: undefined, secure: true }])
  expect(second.logins).toEqual([])
})

test.each([['yes'], ['no']])('serve takes mail over STARTTLS, a thread for it: %s', async (word) => {
  const maildir = join(directory, 'maildir')
  const relay = await served(
    '--maildir',
    maildir,
    '--smtp-thread',
    word,
    '--tls-cert',
    certPath,
    '--tls-key',
    keyPath,
  )
  const client = createTransport({
    port: relay.endpoint.port,
    requireTLS: true,
    tls: { ca: certificate.cert },
  })
  const { response } = await client.sendMail({ from: 's@example.org', to: 'r@example.net', text: 'x' })
  expect(response).toMatch(/^250 2\.0\.0 /)
  const arrived = join(maildir, 'r@example.net', 'new')
  await expect.poll(() => readdir(arrived).catch(() => [])).toHaveLength(1)
  const [name = ''] = await readdir(arrived)
  expect(await readFile(join(arrived, name), 'latin1')).toMatch(/ with ESMTPS id /)
})

test('serve takes mail at several ports, where sessions begin with TLS too; sendmail goes where they do not', async () => {
  const places = ['--listen', '127.0.0.1:0', '--listen-tls', '127.0.0.1:0']
  const tls = ['--tls-cert', certPath, '--tls-key', keyPath]
  const relay = await served('--maildir', join(directory, 'maildir'), ...places, ...tls)
  const listens = (): string[] =>
    [...relay.output.matchAll(/^listening on 127\.0\.0\.1:(\d+( with TLS)?)$/gm)].map(([, port = '']) => port)
  await expect.poll(listens).toHaveLength(3)
  const ports = listens()
  expect(ports.map((text) => text.includes('TLS'))).toEqual([false, false, true])
  for (const text of ports) {
    const client = createTransport({
      port: parseInt(text, 10),
      secure: text.includes('TLS'),
      tls: { ca: certificate.cert },
    })
    const { response } = await client.sendMail({ from: 's@example.org', to: 'r@example.net', text: 'x' })
    expect(response).toMatch(/^250 2\.0\.0 /)
  }
  expect(await send()).toMatchObject({ exitCode: 0 })
  expect(relay.log).toMatch(/"tls":true,"msg":"listening"/)
})

test.each<[string, (secret: (text: string) => Promise<string>) => Promise<string[]>, RegExp]>([
  ['one of two', () => Promise.resolve(['--tls-cert', certPath]), /--tls-cert and --tls-key belong together/],
  ['TLS without a certificate', () => Promise.resolve(['--listen-tls', '127.0.0.1:0']), /--listen-tls needs/],
  [
    'a file that is not there',
    () => Promise.resolve(['--tls-cert', 'nowhere.pem', '--tls-key', keyPath]),
    /--tls-cert: ENOENT.*nowhere\.pem/,
  ],
  [
    'no key',
    () => Promise.resolve(['--tls-cert', certPath, '--tls-key', certPath]),
    /no certificate and its key/,
  ],
  [
    'an empty key',
    async (secret) => ['--tls-cert', certPath, '--tls-key', await secret('')],
    /no certificate and its key: .*secret is empty/,
  ],
  [
    'no relay',
    async (secret) => ['--relay-auth', await secret('me:x')],
    /--relay-auth is for a server that --relay names/,
  ],
  [
    'no password',
    async (secret) => ['--relay', 'a', '--relay-auth', await secret('me\n')],
    /one line USER:PASSWORD/,
  ],
  [
    'two lines',
    async (secret) => ['--relay', 'a', '--relay-auth', await secret('me:x\nyou:y\n')],
    /one line USER:PASSWORD/,
  ],
  [
    'no TLS',
    async (secret) => ['--relay', 'a', '--relay-auth', await secret('me:x'), '--relay-tls', 'opportunistic'],
    /only over TLS that is required or implicit/,
  ],
])('wrong options are refused before anything is opened: %s', async (_, args, says) => {
  const ended = await waybill(['serve', '--queue', join(directory, 'queue'), ...(await args(secretFile))])
  expect(ended).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(says) as string })
  expect(ended.stderr).not.toMatch(/me:|you:/)
  expect(await readdir(directory)).not.toContain('queue')
})
