/** Mail to a server that wants to know who brings it. */
import { expect, test } from 'vitest'
import type { SMTPServerOptions } from 'smtp-server'
import type { Transport } from '../../../src/delivery/transport.js'
import { certificate } from '../certificate.js'
import { deliver } from '../request.js'
import { transportOf } from './smtp-out-fixture.js'
import { tlsServer, type TlsServer } from '../tls-server.js'

interface Asked {
  readonly server: TlsServer
  readonly transport: Transport
  /** Logins so far, and sessions that are open. */
  readonly logins: string[]
  readonly openCount: () => number
}

/** Knows `me` by `secret`. */
async function asked(pass: string, options: SMTPServerOptions = {}): Promise<Asked> {
  const logins: string[] = []
  let openCount = 0
  const server = await tlsServer(certificate, {
    authOptional: false,
    disabledCommands: [],
    onConnect: (_session, done) => {
      openCount++
      done()
    },
    onClose: () => void openCount--,
    onAuth: ({ username = '', password = '' }, _session, done) => {
      logins.push(`${username} ${password}`)
      if (username === 'me' && password === 'secret') done(null, { user: username })
      else done(Object.assign(new Error('who are you'), { responseCode: 535 }))
    },
    ...options,
  })
  const transport = transportOf({
    host: 'localhost',
    port: server.port,
    tls: 'required',
    tlsOptions: { ca: certificate.cert },
    auth: { user: 'me', pass },
  })
  return { server, transport, logins, openCount: () => openCount }
}

test('mail is handed over to a server that knows us, to which we say it once for each connection', async () => {
  const { server, transport, logins } = await asked('secret')
  for (let i = 0; i < 3; i++) expect(await deliver(transport)).toMatchObject({ kind: 'delivered' })
  expect(server.taken).toHaveLength(3)
  expect(logins).toEqual(['me secret'])
})

test('a server that does not know us puts mail off, and its connection is closed', async () => {
  const { server, transport, logins, openCount } = await asked('wrong')
  for (let i = 0; i < 3; i++) {
    const result = await deliver(transport)
    expect(result).toMatchObject({ kind: 'site', status: '4.7.8' })
    expect(JSON.stringify(result)).not.toContain('wrong')
  }
  expect(logins).toHaveLength(3)
  expect(server.taken).toEqual([])
  await expect.poll(openCount).toBe(0)
})

test('a server that offers no login defers mail that needs one', async () => {
  const { server, transport, openCount } = await asked('secret', {
    authOptional: true,
    disabledCommands: ['AUTH'],
  })
  const result = await deliver(transport)
  expect(result).toMatchObject({ kind: 'site', status: '4.7.8' })
  expect(JSON.stringify(result)).not.toContain('secret')
  expect(server.taken).toEqual([])
  await expect.poll(openCount).toBe(0)
})
