/** Mail of a relay that reads its tables again: where it goes, who signs it, and by which login. */
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { type RelayProcess, startedRelay } from '../../end-to-end/relay-process.js'
import { certificate, certPath } from '../../relay/certificate.js'
import { verdictsOf } from '../../relay/dkim/dkim-verifier.js'
import { recipientsOf } from '../../relay/foreign-server.js'
import { serversAt } from '../../relay/smtp-out/mx-out-fixture.js'
import { runWaybill } from '../command-process.js'
import { temporaryDirectory } from '../../temporary-directory.js'

let directory: string
let relay: RelayProcess
beforeEach(async () => {
  directory = await temporaryDirectory('reload-mail')
})

const at = (name: string): string => join(directory, name)

async function start(...args: string[]): Promise<void> {
  relay = await startedRelay(['--queue', at('queue'), ...args], { NODE_EXTRA_CA_CERTS: certPath })
}

async function reload(): Promise<void> {
  const ended = await runWaybill(['reload', '--queue', at('queue')], { directory })
  expect(ended).toMatchObject({ exitCode: 0, stderr: '' })
}

const send = (to: string): Promise<unknown> =>
  createTransport({ port: relay.endpoint.port, ignoreTLS: true }).sendMail({
    from: 'ada@example.org',
    to,
    text: 'x',
  })

/** @returns its port */
async function smarthost(options: SMTPServerOptions): Promise<number> {
  const server = new SMTPServer({ ...certificate, authOptional: true, logger: false, ...options })
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => server.close(() => {}))
  return (server.server.address() as AddressInfo).port
}

test('mail takes the route that the table has when its turn comes; what a server has been offered is its own', async () => {
  const { servers, port } = await serversAt({
    '127.0.0.2': undefined,
    '127.0.0.3': (line) => (line === 'DATA' ? { does: 'hang' } : undefined),
    '127.0.0.4': undefined,
  })
  const [, before, after] = servers
  await writeFile(at('routes'), `example.net :[127.0.0.3]:${port}\n`)
  await start('--relay', `127.0.0.2:${port}`, '--routes', at('routes'))
  await send('one@example.net')
  await expect.poll(() => before!.busyCount()).toBe(1)
  await writeFile(at('routes'), `example.net :[127.0.0.4]:${port}\n`)
  await reload()
  await send('two@example.net')
  await expect.poll(() => recipientsOf(after!)).toEqual(['two@example.net'])
  expect(before!.busyCount()).toBe(1)
  // It goes away, and the message is tried again: by its new route.
  before!.endSessions()
  await expect.poll(() => relay.log).toMatch(/one@example\.net[^\n]*"msg":"deferred"/)
  await runWaybill(['flush', '--queue', at('queue'), '--all'], { directory })
  await expect.poll(() => recipientsOf(after!)).toEqual(['two@example.net', 'one@example.net'])
})

test('mail is signed with the keys of the moment, and an attempt that a server lets wait goes on', async () => {
  const taken = new Map<string, Buffer>()
  let goOn: (() => void) | undefined
  const port = await smarthost({
    onMailFrom: (_sender, _session, done) => {
      if (goOn === undefined) goOn = done
      else done()
    },
    onData: (stream, { envelope }, done) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        taken.set(envelope.rcptTo[0]!.address, Buffer.concat(chunks))
        done()
      })
    },
  })
  const keys: Record<string, KeyObject> = {}
  const table = async (selector: string): Promise<void> => {
    const { privateKey } = generateKeyPairSync('ed25519')
    keys[`${selector}._domainkey.example.org`] = createPublicKey(privateKey)
    await writeFile(at(`${selector}.pem`), privateKey.export({ type: 'pkcs8', format: 'pem' }))
    await writeFile(at('dkim'), `example.org ${selector} ${selector}.pem\n`)
  }
  await table('old')
  await start('--relay', `127.0.0.1:${port}`, '--dkim', at('dkim'))
  await send('one@example.net')
  await expect.poll(() => goOn).toBeDefined()
  await table('new')
  await reload()
  await send('two@example.net')
  await expect.poll(() => [...taken.keys()]).toEqual(['two@example.net'])
  goOn!()
  await expect.poll(() => [...taken.keys()]).toEqual(['two@example.net', 'one@example.net'])
  for (const [recipient, selector] of [
    ['one@example.net', 'old'],
    ['two@example.net', 'new'],
  ] as const)
    expect(verdictsOf(taken.get(recipient)!, keys)).toMatchObject([{ selector, isRight: true }])
})

test('the relay is told the password of the moment', async () => {
  const logins: string[] = []
  const port = await smarthost({
    onAuth: ({ username = '', password = '' }, _session, done) => {
      logins.push(`${username}:${password}`)
      done(null, { user: username })
    },
    onData: (stream, _session, done) => stream.on('end', done).resume(),
  })
  await writeFile(at('login'), 'me:old\n')
  await start('--relay', `127.0.0.1:${port}`, '--relay-auth', at('login'))
  await send('one@example.net')
  await expect.poll(() => logins).toEqual(['me:old'])
  await writeFile(at('login'), 'me:new\n')
  await reload()
  await send('two@example.net')
  await expect.poll(() => logins).toEqual(['me:old', 'me:new'])
})
