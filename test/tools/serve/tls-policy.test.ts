/** `waybill serve --tls-policy`, as a separate process. */
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import { beforeEach, expect, test } from 'vitest'
import { type RelayProcess, startedRelay } from '../../end-to-end/relay-process.js'
import { certificate, certPath } from '../../relay/certificate.js'
import { ofStranger } from '../../relay/named-certificates.js'
import { tlsServer, tlsServersAt, type TlsServer } from '../../relay/tls-server.js'
import { runWaybill, type Ended } from '../command-process.js'
import { temporaryDirectory } from '../../temporary-directory.js'

let directory: string
let relay: RelayProcess
beforeEach(async () => {
  directory = await temporaryDirectory('tls-policy')
})

const at = (name: string): string => join(directory, name)
const waybill = (...args: string[]): Promise<Ended> => runWaybill(args, { directory })

/** With the tests' certificate as a root. */
async function start(...args: string[]): Promise<void> {
  relay = await startedRelay(['--queue', at('queue'), '--tls-policy', at('tls'), ...args], {
    NODE_EXTRA_CA_CERTS: certPath,
  })
}

const send = (to: string): Promise<unknown> =>
  createTransport({ port: relay.endpoint.port, ignoreTLS: true }).sendMail({
    from: 'ada@example.org',
    to,
    text: 'x',
  })

const takenBy = ({ taken }: TlsServer): [string, boolean][] =>
  taken.map(({ recipients, secure }) => [recipients.join(), secure])

test('what is asked of the relay is said by the table of the moment, and the log says what was missing', async () => {
  const server = await tlsServer(certificate)
  await writeFile(at('tls'), `[127.0.0.1]:${server.port} none\n`)
  await start('--relay', `127.0.0.1:${server.port}`, '--retry', '1h')
  await send('one@example.net')
  await expect.poll(() => takenBy(server)).toEqual([['one@example.net', false]])

  await writeFile(at('tls'), `[127.0.0.1] secure match=mail.example.net\n`)
  expect((await waybill('reload', '--queue', at('queue'))).stdout).toMatch(
    /^--tls-policy .*\/tls: 1 destination\n$/,
  )
  await send('two@example.net')
  await expect
    .poll(() => relay.log)
    .toMatch(/two@example\.net[^\n]*"status":"4\.7\.5"[^\n]*not for mail\.example\.net[^\n]*"msg":"deferred"/)

  await writeFile(at('tls'), `[127.0.0.1] dane\n`)
  const ended = await waybill('reload', '--queue', at('queue'))
  expect(ended).toMatchObject({ exitCode: 1, stdout: '' })
  expect(ended.stderr).toMatch(/the level dane is for servers that.*\/tls, line 1\)/)
  await waybill('flush', '--queue', at('queue'), '--all')
  await expect.poll(() => relay.log.split('"status":"4.7.5"').length - 1).toBe(2)

  await writeFile(at('tls'), '[127.0.0.1] verify\n')
  expect(await waybill('reload', '--queue', at('queue'))).toMatchObject({ exitCode: 0 })
  await waybill('flush', '--queue', at('queue'), '--all')
  await expect.poll(() => takenBy(server).slice(1)).toEqual([['two@example.net', true]])
})

test('a policy is for mail that takes a route, too, and a returned message says what was missing', async () => {
  const { servers, port } = await tlsServersAt({ '127.0.0.2': undefined, '127.0.0.3': ofStranger })
  await writeFile(at('tls'), `[127.0.0.3] verify\n[127.0.0.4] verify\n`)
  await writeFile(at('routes'), `example.net :[127.0.0.3]:${port}\n`)
  const times = ['--retry', '200ms', '--lifetime', '1s']
  await start('--relay', `127.0.0.2:${port}`, '--routes', at('routes'), ...times)
  await send('one@example.net')
  // The report, which goes by the relay; for that there is no line.
  await expect.poll(() => takenBy(servers[0]!)).toEqual([['ada@example.org', false]])
  expect(takenBy(servers[1]!)).toEqual([])
  const report = servers[0]!.taken[0]!.data.replaceAll('\r\n ', ' ')
  expect(report).toMatch(/Diagnostic-Code: .*the TLS handshake failed: self-signed certificate/)
})

test('with --direct domains have lines as well as servers', async () => {
  const { servers, port } = await tlsServersAt({ '127.0.0.2': undefined, '127.0.0.3': ofStranger })
  await writeFile(at('tls'), 'example.net secure\n[127.0.0.2] encrypt\n[127.0.0.3] encrypt\n')
  await writeFile(at('routes'), `a.example :[127.0.0.2]:${port}\nb.example :[127.0.0.3]:${port}\n`)
  await start('--direct', '--routes', at('routes'), '--relay-tls', 'none')
  await send('one@a.example, two@b.example')
  await expect.poll(() => takenBy(servers[1]!)).toEqual([['two@b.example', true]])
  await expect.poll(() => relay.log).toMatch(/one@a\.example[^\n]*"4\.7\.4"[^\n]*not offered/)
  expect(takenBy(servers[0]!)).toEqual([])
})

test.each<[string, string[], string, RegExp]>([
  [
    'a level for mail hosts',
    ['--relay', 'a'],
    '# x\n[a] dane-only\n',
    /dane-only is for servers that.*\/tls, line 2/,
  ],
  ['a domain for a relay', ['--relay', 'a'], 'a secure\n', /stands in brackets.*line 1/],
  ['mail to Maildirs', ['--maildir', 'm'], '', /--tls-policy is for mail that goes to servers/],
  ['mail to Maildirs unless told', [], '', /--tls-policy is for mail that goes to servers/],
  [
    'a password without a certificate',
    ['--relay', 'a:26', '--relay-auth', 'login'],
    '[a]:25 none\n[A]:26 encrypt\n',
    /the relay: credentials travel only over TLS that verifies.*not encrypt.*\/tls, line 2/,
  ],
  [
    'a password, by the line for all ports',
    ['--relay', '[::1]:26', '--relay-auth', 'login', '--relay-tls', 'required'],
    '[0::1] may\n',
    /the relay: credentials.*not may.*line 1/,
  ],
  [
    'implicit TLS that need not be',
    ['--relay', 'a', '--relay-tls', 'implicit'],
    '[a]:465 may\n',
    /the relay: TLS that is implicit.*line 1/,
  ],
])('%s is refused before anything is opened', async (_, args, text, says) => {
  await writeFile(at('tls'), text)
  await writeFile(at('login'), 'me:secret\n')
  const ended = await waybill('serve', '--queue', at('queue'), '--tls-policy', at('tls'), ...args)
  expect(ended).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(says) as string })
  expect(await readdir(directory)).not.toContain('queue')
})

test('a reload that would tell the password to another server is refused', async () => {
  await writeFile(at('tls'), '[127.0.0.1] verify\n[other.example] none\n')
  await writeFile(at('login'), 'me:secret\n')
  await start('--relay', '127.0.0.1:9', '--relay-auth', at('login'))
  await writeFile(at('tls'), '[127.0.0.1] encrypt\n')
  const ended = await waybill('reload', '--queue', at('queue'))
  expect(ended).toMatchObject({ exitCode: 1, stdout: '' })
  expect(ended.stderr).toMatch(/the relay: credentials travel only.*\/tls, line 1\)/)
})
