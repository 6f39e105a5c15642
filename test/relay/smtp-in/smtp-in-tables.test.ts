/** A server whose certificate and users change while it listens. */
import { expect, onTestFinished, test } from 'vitest'
import { listenSmtp, type SmtpListener, type SmtpServerOptions } from '../../../src/relay/smtp-in/smtp-in.js'
import { certificate, renewed, shownName } from '../certificate.js'
import { rawClient, sendOne, type RawClient } from '../raw-client.js'
import { encrypted, memoryQueue } from './smtp-in-fixture.js'
import { base64, usersWith } from '../tables/users-fixture.js'

/** STARTTLS at the first port, TLS at the second. */
async function listen(more: Partial<SmtpServerOptions> = {}): Promise<SmtpListener> {
  const listener = await listenSmtp(memoryQueue(), {
    places: [
      { host: '127.0.0.1', port: 0 },
      { host: '127.0.0.1', port: 0, implicitTls: true },
    ],
    purpose: 'local',
    tls: certificate,
    ...more,
  })
  onTestFinished(() => listener.close())
  return listener
}

const namesShown = ({ ports }: SmtpListener): Promise<string[]> =>
  Promise.all(ports.map(({ port }, index) => shownName(port, index === 1)))

/** In a session that began with TLS. */
async function secured({ ports }: SmtpListener): Promise<RawClient> {
  const plain = await rawClient(ports[1]!.port)
  const client = await encrypted(plain)
  await client.reply()
  await client.say('EHLO client.example')
  return client
}

const login = (client: RawClient, name: string, password: string): Promise<string> =>
  client.say(`AUTH PLAIN ${base64(`\0${name}\0${password}`)}`)

test('a new session is shown the renewed certificate, wherever TLS begins, and open ones go on', async () => {
  const listener = await listen()
  const before = await secured(listener)
  expect(await namesShown(listener)).toEqual(['localhost', 'localhost'])
  await listener.takeUp({ tls: renewed })
  expect(await namesShown(listener)).toEqual(['renewed', 'renewed'])
  expect(await sendOne(before)).toMatch(/^250 /)
})

test('what is no certificate and its key is refused with the users beside it, and the one before is shown', async () => {
  const listener = await listen({ users: usersWith({ ada: 'secret' }) })
  const tls = { cert: renewed.cert, key: certificate.key }
  await expect(listener.takeUp({ tls, users: usersWith({ bob: 'secret' }) })).rejects.toMatchObject({
    code: 'OPTION_INVALID',
    message: expect.stringMatching(/no certificate and its key/) as string,
  })
  expect(await namesShown(listener)).toEqual(['localhost', 'localhost'])
  expect(await login(await secured(listener), 'ada', 'secret')).toMatch(/^235 /)
  await listener.takeUp({ users: usersWith({ bob: 'secret' }) })
  expect(await namesShown(listener)).toEqual(['localhost', 'localhost'])
})

test('passwords are checked with the users of the moment, and users stay logged in', async () => {
  const strangers = { purpose: 'relay', trust: ['192.0.2.1'], greetDelayMs: 1 } as const
  const listener = await listen({ ...strangers, users: usersWith({ ada: 'secret', bob: 'old' }) })
  const ada = await secured(listener)
  const bob = await secured(listener)
  expect(await login(ada, 'ada', 'secret')).toMatch(/^235 /)
  await listener.takeUp({ users: usersWith({ bob: 'new', eve: 'secret' }) })
  expect(await sendOne(ada)).toMatch(/^250 /)
  expect(await login(await secured(listener), 'ada', 'secret')).toMatch(/^535 /)
  expect(await login(bob, 'bob', 'old')).toMatch(/^535 /)
  expect(await login(bob, 'bob', 'new')).toMatch(/^235 /)
  expect(await login(await secured(listener), 'eve', 'secret')).toMatch(/^235 /)
})
