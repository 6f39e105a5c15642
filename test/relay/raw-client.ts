/** A client that says exactly what a test tells it to. */
import { connect, type Socket, type TcpNetConnectOpts } from 'node:net'
import { expect, onTestFinished } from 'vitest'

export interface RawClient {
  /** The next whole reply, lines joined by `\n`; what has come so far when the server closes. */
  reply(): Promise<string>
  /** Sends a line and waits for the reply. */
  say(line: string): Promise<string>
  /** Sends bytes and waits for nothing. */
  send(bytes: string | Buffer): void
  /** Resolves when the server has closed. */
  closed: Promise<void>
  destroy(): void
  readonly socket: Socket
}

/** It is gone when the test has ended. */
export async function rawClient(
  port: number,
  host = '127.0.0.1',
  options: Partial<TcpNetConnectOpts> = {},
): Promise<RawClient> {
  const socket = connect({ ...options, port, host })
  onTestFinished(() => void socket.destroy())
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  return clientOn(socket)
}

/** Behind EHLO. */
export async function greetedClient(...where: Parameters<typeof rawClient>): Promise<RawClient> {
  const client = await rawClient(...where)
  await client.reply()
  await client.say('EHLO client.example')
  return client
}

/** @param socket connected */
export function clientOn(socket: Socket): RawClient {
  let input = ''
  let wake = (): void => {}
  let isClosed = false
  socket.on('data', (chunk: Buffer) => {
    input += chunk.toString()
    wake()
  })
  socket.on('error', () => {})
  const closed = new Promise<void>((resolve) =>
    socket.on('close', () => {
      isClosed = true
      wake()
      resolve()
    }),
  )
  const reply = async (): Promise<string> => {
    for (;;) {
      const whole = /^(?:\d{3}-.*\r\n)*\d{3}(?: .*)?\r\n/.exec(input)
      if (whole !== null) {
        input = input.slice(whole[0].length)
        return whole[0].trimEnd().replaceAll('\r\n', '\n')
      }
      if (isClosed) return input
      await new Promise<void>((resolve) => (wake = resolve))
    }
  }
  return {
    reply,
    say: (line) => {
      socket.write(`${line}\r\n`)
      return reply()
    },
    send: (bytes) => void socket.write(bytes),
    closed,
    destroy: () => socket.destroy(),
    socket,
  }
}

/** What `codesTo` and `sendTo` say of a recipient. */
export const taken = '250 2.1.5'
export const unknown = '550 5.1.1'
export const denied = '554 5.7.1'

/** Behind MAIL. @param paths in brackets @returns the reply to each */
export async function repliesTo(client: RawClient, paths: readonly string[]): Promise<string[]> {
  const replies: string[] = []
  for (const path of paths) replies.push(await client.say(`RCPT TO:${path}`))
  return replies
}

/** The same; of each reply its codes. */
export const codesTo = async (client: RawClient, paths: readonly string[]): Promise<string[]> =>
  (await repliesTo(client, paths)).map((reply) => reply.slice(0, 9))

/** A message for the accepted ones of these, at least one, behind EHLO.
 * @returns the codes of the reply to each recipient */
export async function sendTo(
  client: RawClient,
  recipients: readonly string[],
  sender = 'boss@example.com',
): Promise<string[]> {
  await client.say(`MAIL FROM:<${sender}>`)
  const codes = await codesTo(
    client,
    recipients.map((recipient) => `<${recipient}>`),
  )
  await client.say('DATA')
  expect(await client.say('From: boss@example.com\r\n\r\nx\r\n.')).toMatch(/^250 /)
  return codes
}

/** A message, behind EHLO. @returns the reply to its dot */
export async function sendOne(client: RawClient): Promise<string> {
  await client.say('MAIL FROM:<s@example.org>')
  await client.say('RCPT TO:<r@example.net>')
  await client.say('DATA')
  return client.say('x\r\n.')
}

/** Greeting, EHLO, MAIL, RCPT and DATA; the replies to all but the greeting. */
export async function untilData(
  client: RawClient,
  recipients: readonly string[] = ['one@example.net'],
  mail = 'MAIL FROM:<sender@example.org>',
): Promise<string[]> {
  await client.reply()
  const replies = [await client.say('EHLO client.example'), await client.say(mail)]
  for (const recipient of recipients) replies.push(await client.say(`RCPT TO:<${recipient}>`))
  replies.push(await client.say('DATA'))
  return replies
}
