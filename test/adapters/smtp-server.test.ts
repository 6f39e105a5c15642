/** A queue behind an smtp-server of the embedder's own. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { PassThrough } from 'node:stream'
import { connect } from 'node:tls'
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { expect, onTestFinished, test } from 'vitest'
import { smtpHandlers, type SmtpHandlerOptions, type SubmitPort } from '../../src/adapters/smtp-server.js'
import { certificate } from '../relay/certificate.js'
import { clientOn, rawClient, untilData } from '../relay/raw-client.js'
import { memoryQueue } from '../relay/smtp-in/smtp-in-fixture.js'
import { openStage } from './stage.js'

/** @returns its port */
async function serve(
  queue: SubmitPort,
  options: SmtpHandlerOptions = {},
  own: SMTPServerOptions = {},
): Promise<number> {
  const before: SMTPServerOptions = {
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    closeTimeout: 1,
    hideDSN: false,
  }
  const server = new SMTPServer({
    ...before,
    ...smtpHandlers(queue, { hostname: 'mx.example.net', ...options }),
    ...own,
  })
  server.on('error', () => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise<void>((resolve) => server.close(resolve)))
  return (server.server.address() as AddressInfo).port
}

async function session(port: number): Promise<SMTPConnection> {
  const connection = new SMTPConnection({ host: '127.0.0.1', port, name: 'client.example' })
  connection.on('error', () => undefined)
  await new Promise<void>((resolve) => connection.connect(() => resolve()))
  onTestFinished(() => connection.close())
  return connection
}

const send = (connection: SMTPConnection, to: string[], data: string): Promise<string> =>
  new Promise((resolve, reject) =>
    connection.send({ from: 'ada@example.org', to }, data, (error, info) =>
      error === null ? resolve(info.response) : reject(error),
    ),
  )

test('250 means that the message is in the queue: it survives the crash that follows at once', async () => {
  const stage = await openStage()
  stage.answer = () => ({ kind: 'deferred', status: '4.2.1', reason: 'later' })
  const connection = await session(await serve(stage.queue))
  const response = await send(
    connection,
    ['grace@example.net', 'mary@example.net'],
    'Subject: x\r\n\r\n.dot\r\n',
  )
  const next = await stage.reopen()
  const listed: unknown[] = []
  for await (const { id, sender, recipients } of next.list()) listed.push({ id, sender, recipients })
  expect(listed).toEqual([
    {
      id: /^250 2\.0\.0 queued as (\S+)$/.exec(response)?.[1],
      sender: 'ada@example.org',
      recipients: ['grace@example.net', 'mary@example.net'],
    },
  ])
})

test('a listener of errors that throws leaves no client without a reply', async () => {
  const { queue } = await openStage()
  const broken: SubmitPort = { limits: queue.limits, submit: () => Promise.reject(new Error('broken')) }
  const onError = (): never => {
    throw new Error('of the listener')
  }
  const connection = await session(await serve(broken, { onError }))
  await expect(send(connection, ['grace@example.net'], 'Subject: x\r\n\r\n')).rejects.toMatchObject({
    responseCode: 451,
  })
})

test('the message goes on as it came, under a Received field that names both sides', async () => {
  const { queue, taken } = await openStage()
  const connection = await session(await serve(queue))
  const lines = '..a large message, each line with a dot\r\n'.repeat(20_000)
  await send(connection, ['grace@example.net'], `Subject: x\r\n\r\n${lines}`)
  await send(connection, ['grace@example.net'], 'Subject: small\r\n\r\n')
  await expect.poll(() => taken.length).toBe(2)
  const large = taken.find(({ data }) => data.includes('Subject: x'))!.data
  expect(large).toMatch(
    /^Received: from client\.example \(\[127\.0\.0\.1\]\)\r\n\tby mx\.example\.net with ESMTP [^]*for <grace@example\.net>;/,
  )
  expect(large.endsWith(`Subject: x\r\n\r\n${lines}`)).toBe(true)
})

test('a client that waits for nothing has all of its messages accepted', async () => {
  const queue = memoryQueue()
  const client = await rawClient(await serve(queue))
  await client.reply()
  client.send('EHLO c\r\n')
  for (let i = 0; i < 5; i++)
    client.send(`MAIL FROM:<s@example.org>\r\nRCPT TO:<u${i}@example.net>\r\nDATA\r\nmessage ${i}\r\n.\r\n`)
  await client.reply()
  for (let i = 1; i <= 5; i++) {
    for (const code of [/^250 /, /^250 /, /^354 /]) expect(await client.reply()).toMatch(code)
    expect(await client.reply()).toBe(`250 2.0.0 queued as q${i}`)
  }
})

test('a long message that has passed too many relays is read to its end and refused', async () => {
  const queue = memoryQueue()
  const client = await rawClient(await serve(queue, { hopCountMax: 3 }))
  await untilData(client)
  const header = 'Received: from a by b\r\n'.repeat(4)
  expect(await client.say(`${header}\r\n${`${'x'.repeat(98)}\r\n`.repeat(5000)}.`)).toMatch(/^554 5\.4\.6 /)
  expect(queue.submitCount).toBe(0)
  await client.say('MAIL FROM:<s@example.org>')
  await client.say('RCPT TO:<a@example.net>')
  await client.say('DATA')
  expect(await client.say(`${header.slice(2 * 23)}\r\nx\r\n.`)).toMatch(/^250 /)
})

test('what is asked and is nothing is refused where smtp-server does not look at it, too', async () => {
  const queue = memoryQueue()
  const client = await rawClient(await serve(queue, {}, { hideDSN: true }))
  await client.reply()
  await client.say('EHLO c')
  expect(await client.say('MAIL FROM:<s@example.org> RET=BODY')).toMatch(/^501 5\.5\.4 RET /)
  expect(await client.say('MAIL FROM:<s@example.org> RET=HDRS')).toMatch(/^250 /)
  for (const parameter of ['NOTIFY=SOMETIMES', 'NOTIFY=NEVER,DELAY', 'ORCPT=a@example.net'])
    expect(await client.say(`RCPT TO:<a@example.net> ${parameter}`)).toMatch(/^501 5\.5\.4 /)
  expect(await client.say('RCPT TO:<a@example.net> NOTIFY=DELAY')).toMatch(/^250 /)
  await client.say('DATA')
  await client.say('x\r\n.')
  expect(queue.kept).toMatchObject([
    { dsn: { return: 'headers' }, recipients: [{ address: 'a@example.net', notify: ['delay'] }] },
  ])
})

test('250 is not said before the queue has settled', async () => {
  let settle = (): void => {}
  const queue = memoryQueue(() => new Promise((resolve) => (settle = resolve)))
  const client = await rawClient(await serve(queue))
  await untilData(client)
  const reply = client.say('x\r\n.')
  expect(await Promise.race([reply, new Promise((resolve) => setTimeout(resolve, 100, 'silence'))])).toBe(
    'silence',
  )
  settle()
  expect(await reply).toBe('250 2.0.0 queued as q1')
})

test.each([5000, 500_000])('data of %d bytes, one more than allowed, is refused with 552', async (bytes) => {
  const { queue } = await openStage()
  let acceptedCount = 0
  queue.on('accepted', () => acceptedCount++)
  const port = await serve(queue, { sizeBytesMax: bytes - 1 })
  const connection = await session(port)
  const client = await rawClient(port)
  await untilData(client)
  expect(await client.say(`${`${'x'.repeat(98)}\r\n`.repeat(bytes / 100)}.`)).toMatch(/^552 5\.3\.4 /)
  expect(acceptedCount).toBe(0)
  await client.say('MAIL FROM:<s@example.org>')
  await client.say('RCPT TO:<a@example.net>')
  await client.say('DATA')
  expect(await client.say('small\r\n.')).toMatch(/^250 /)
  await expect(
    send(
      connection,
      ['a@example.net'],
      'y'
        .repeat(80)
        .concat('\r\n')
        .repeat(bytes / 80),
    ),
  ).rejects.toMatchObject({ responseCode: 552 })
})

test('REQUIRETLS is not offered by a server with our options, and refused at the data by one that offers it', async () => {
  const queue = memoryQueue()
  const { onData } = smtpHandlers(queue)
  const tls = { ...certificate, disabledCommands: ['AUTH'], secure: true }
  const said: string[] = []
  for (const own of [tls, { ...tls, hideREQUIRETLS: false, onMailFrom: admits, onData }]) {
    const secure = connect({ port: await serve(queue, {}, own), host: '127.0.0.1', ca: certificate.cert })
    await once(secure, 'secureConnect')
    onTestFinished(() => void secure.destroy())
    const client = clientOn(secure)
    await client.reply()
    said.push(await client.say('EHLO c.example'), await client.say('MAIL FROM:<s@example.org> REQUIRETLS'))
    await client.say('RCPT TO:<r@example.net>')
    await client.say('DATA')
    said.push(await client.say('x\r\n.'))
  }
  expect(said).toMatchObject([
    expect.not.stringContaining('REQUIRETLS') as string,
    expect.stringMatching(/^550 5\.7\.30 /) as string,
    expect.stringMatching(/^5/) as string,
    expect.stringContaining('REQUIRETLS') as string,
    expect.stringMatching(/^250 /) as string,
    expect.stringMatching(/^550 5\.7\.30 /) as string,
  ])
  expect(queue.kept).toEqual([])
})

test('DSN is offered by a server with our options by default, and what is asked goes to the queue', async () => {
  const queue = memoryQueue()
  const client = await rawClient(await serve(queue))
  await client.reply()
  expect(await client.say('EHLO c')).toContain('DSN')
  expect(await client.say('MAIL FROM:<s@example.org> RET=FULL ENVID=x+2By')).toMatch(/^250 /)
  expect(await client.say('RCPT TO:<a@example.net> NOTIFY=NEVER,DELAY')).toMatch(/^501 /)
  expect(await client.say('RCPT TO:<a@example.net> NOTIFY=NEVER')).toMatch(/^250 /)
  await client.say('DATA')
  expect(await client.say('x\r\n.')).toMatch(/^250 /)
  expect(queue.kept[0]).toMatchObject({
    recipients: [{ address: 'a@example.net', notify: 'never' }],
    dsn: { id: 'x+y', return: 'full' },
  })
  const other = await rawClient(await serve(memoryQueue(), { dsn: false }))
  await other.reply()
  expect(await other.say('EHLO c')).not.toContain('DSN')
  expect(await other.say('MAIL FROM:<s@example.org>')).toMatch(/^250 /)
  expect(await other.say('RCPT TO:<a@example.net> NOTIFY=NEVER')).toMatch(/^555 5\.5\.4 /)
})

const admits: NonNullable<SMTPServerOptions['onMailFrom']> = (_sender, _session, done) => done()

test('a size that is announced over the limit is refused before the data', async () => {
  const client = await rawClient(await serve(memoryQueue(), { sizeBytesMax: 1000 }))
  await client.reply()
  expect(await client.say('EHLO c')).toContain('SIZE 1000')
  expect(await client.say('MAIL FROM:<s@example.org> SIZE=1001')).toMatch(/^552 /)
})

test('invalid addresses, and more recipients than the queue takes, are refused one by one', async () => {
  const queue = memoryQueue(undefined, { dataBytesMax: 10_000, recipientCountMax: 2 })
  const client = await rawClient(await serve(queue))
  await client.reply()
  await client.say('EHLO c')
  expect(await client.say('MAIL FROM:<s@>')).toMatch(/^501 /)
  expect(await client.say('MAIL FROM:<s@example.org>')).toMatch(/^250 /)
  expect(await client.say('RCPT TO:<two@at@signs>')).toMatch(/^501 /)
  for (const name of ['a', 'b']) expect(await client.say(`RCPT TO:<${name}@example.net>`)).toMatch(/^250 /)
  expect(await client.say('RCPT TO:<c@example.net>')).toMatch(/^452 /)
  await client.say('DATA')
  expect(await client.say('x\r\n.')).toMatch(/^250 /)
  expect(queue.kept[0]?.recipients).toEqual(['a@example.net', 'b@example.net'])
})

test.each(['Subject: half\r\n', `Subject: half\r\n\r\n${`${'x'.repeat(98)}\r\n`.repeat(5000)}`])(
  'a client that vanishes in the middle of the data leaves nothing, and the server goes on',
  async (start) => {
    const { queue, taken } = await openStage()
    const port = await serve(queue)
    const client = await rawClient(port)
    await untilData(client)
    client.send(start)
    await new Promise((resolve) => setTimeout(resolve, 50))
    client.destroy()
    await client.closed
    await send(await session(port), ['a@example.net'], 'Subject: whole\r\n\r\nx\r\n')
    await expect.poll(() => taken.length).toBeGreaterThan(0)
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(taken.map(({ data }) => /Subject: (\w+)/.exec(data)?.[1])).toEqual(['whole'])
    expect(queue.isCrashed).toBe(false)
  },
)

test('a client that goes while it waits for the reply disturbs nobody', async () => {
  let settle = (): void => {}
  const queue = memoryQueue(() => new Promise((resolve) => (settle = resolve)))
  const port = await serve(queue)
  const client = await rawClient(port)
  await untilData(client)
  client.send('x\r\n.\r\n')
  await expect.poll(() => queue.submitCount).toBe(1)
  client.destroy()
  await client.closed
  await new Promise((resolve) => setTimeout(resolve, 20))
  settle()
  await expect.poll(() => queue.kept.length).toBe(1)
  const next = send(await session(port), ['a@example.net'], 'Subject: y\r\n\r\n')
  await expect.poll(() => queue.submitCount).toBe(2)
  settle()
  expect(await next).toMatch(/^250 /)
})

test('a queue that crashes while a client waits, or before, answers 451 and tells the embedder why', async () => {
  const { queue } = await openStage()
  const errors: Error[] = []
  const port = await serve(queue, { onError: (error) => errors.push(error) })
  const client = await rawClient(port)
  await untilData(client)
  client.send('x\r\n.\r\n')
  setImmediate(() => queue.crash())
  const reply = await client.reply()
  // Durable or not is a matter of the moment; what is not is 451.
  expect(reply).toMatch(/^(?:250 2\.0\.0|451 4\.3\.0) /)
  queue.crash()
  await expect(send(await session(port), ['a@example.net'], 'x\r\n')).rejects.toMatchObject({
    responseCode: 451,
    response: expect.stringMatching(/^451 4\.3\.0 local error, try again later/) as string,
  })
  expect(errors.at(-1)).toMatchObject({ code: 'QUEUE_CRASHED' })
})

test('a large message that is on its way when the queue crashes is answered with 451', async () => {
  const { queue } = await openStage({ inlineBytesMax: 64 * 1024 })
  const client = await rawClient(await serve(queue))
  await untilData(client)
  const part = `${'x'.repeat(98)}\r\n`.repeat(4000)
  client.send(part)
  await new Promise((resolve) => setTimeout(resolve, 50))
  queue.crash()
  client.send(part)
  expect(await client.say('.')).toMatch(/^451 4\.3\.0 /)
})

test.each(['before', 'while'])(
  'onData alone, behind a filter of the embedder, refuses what the filter closes %s it is read',
  async (moment) => {
    const queue = memoryQueue()
    const { onData } = smtpHandlers(queue)
    const onFiltered: SMTPServerOptions['onData'] = (source, session, done) => {
      const filtered = Object.assign(new PassThrough(), { byteLength: 0, sizeExceeded: false })
      source.resume()
      if (moment === 'before') filtered.destroy()
      setImmediate(() => {
        onData(filtered, session, done)
        if (moment === 'while') filtered.write('Subject: half', () => filtered.destroy())
      })
    }
    const client = await rawClient(await serve(queue, {}, { onData: onFiltered }))
    await untilData(client)
    expect(await client.say('x\r\n.')).toMatch(/^451 4\.3\.0 /)
    expect(queue.kept).toEqual([])
  },
  5000,
)

test('limits that leave no room are refused when the handlers are made', () => {
  for (const sizeBytesMax of [0, NaN])
    expect(() => smtpHandlers(memoryQueue(), { sizeBytesMax })).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID' }) as Error,
    )
  for (const recipientCountMax of [0, -1, NaN])
    expect(() => smtpHandlers(memoryQueue(), { recipientCountMax })).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID' }) as Error,
    )
})

test.each([
  ['hopCountMax', { hopCountMax: NaN }],
  ['hopCountMax', { hopCountMax: '50' }],
  ['hostname', { hostname: '' }],
  ['hostname', { hostname: 'here\r\nBcc: all@example.net' }],
])('a %s that would stop no loop, or end the field that names it, is refused: %o', (option, options) => {
  expect(() => smtpHandlers(memoryQueue(), options as SmtpHandlerOptions)).toThrow(
    expect.objectContaining({ code: 'OPTION_INVALID', place: { option } }),
  )
})

test('a handler option that there is not is refused', () => {
  const options = { sizeLimit: 1000 } as SmtpHandlerOptions
  expect(() => smtpHandlers(memoryQueue(), options)).toThrow(
    expect.objectContaining({ code: 'OPTION_INVALID', place: { option: 'sizeLimit' } }),
  )
})
