/** SIGTERM and SIGINT: the relay closes its ports, begins no delivery, and waits for
 * those under way. */
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { request, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { argsOf, RelayProcess } from '../../end-to-end/relay-process.js'
import { foreignServer } from '../../relay/foreign-server.js'
import { rawClient, untilData, type RawClient } from '../../relay/raw-client.js'

interface Scene {
  readonly directory: string
  readonly relay: RelayProcess
  /** The server answers the data that it has. */
  readonly answer: () => void
  /** Of the messages that the server has. */
  readonly subjects: () => readonly string[]
}

/** One delivery at a time, to a server that answers none before it is asked to. */
async function scene(...args: readonly string[]): Promise<Scene> {
  const directory = await mkdtemp(join(tmpdir(), 'waybill-stopping-'))
  let answer = (): void => undefined
  const answered = new Promise<void>((resolve) => (answer = resolve))
  const server = await foreignServer((line) =>
    line === '.' ? { reply: '250 2.0.0 taken', after: answered } : undefined,
  )
  const one = ['initial_destination_concurrency=1', 'default_destination_concurrency_limit=1']
  const relay = new RelayProcess([
    ...argsOf({
      queue: join(directory, 'queue'),
      relay: `127.0.0.1:${server.port}`,
      'relay-tls': 'none',
    }),
    ...one.flatMap((parameter) => ['-o', parameter]),
    ...args,
  ])
  await relay.start()
  onTestFinished(async () => {
    answer()
    await relay.kill()
    server.close()
    await rm(directory, { recursive: true, force: true })
  })
  const subjects = (): string[] =>
    server.taken.map(({ data }) => /^Subject: (.*)\r$/m.exec(data.toString())![1]!)
  return { directory, relay, answer, subjects }
}

async function send(relay: RelayProcess, subject: string): Promise<RawClient> {
  const client = await rawClient(relay.endpoint.port)
  await untilData(client, ['grace@example.net'])
  expect(await client.say(`Subject: ${subject}\r\n\r\nx\r\n.`)).toMatch(/^250 /)
  return client
}

const isRefused = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(false)).once('error', () => resolve(true))
    socket.once('connect', () => socket.destroy())
  })

test.each([
  ['SIGTERM', 'yes'],
  ['SIGINT', 'no'],
] as const)(
  '%s waits for the delivery under way, which is not repeated, and begins no other (a thread for clients: %s)',
  async (signal, word) => {
    const { relay, answer, subjects } = await scene('--smtp-thread', word)
    const client = await send(relay, 'under way')
    await expect.poll(subjects).toEqual(['under way'])
    ;(await send(relay, 'later')).destroy()
    const ended = relay.kill(signal)
    await expect.poll(() => isRefused(relay.endpoint.port)).toBe(true)
    expect(relay.isRunning).toBe(true)
    // A session that is open goes on.
    expect(await client.say('NOOP')).toMatch(/^250 /)
    answer()
    expect(await client.reply()).toMatch(/^421 4\.3\.2 .* is shutting down/)
    await ended
    expect(await relay.exit()).toBe(0)
    expect(relay.log).toContain('"msg":"stopping: the ports are closed, and no delivery begins"')
    expect(relay.log).toContain('"msg":"stopped: no delivery was under way"')
    expect(subjects()).toEqual(['under way'])

    await relay.start()
    await expect.poll(() => subjects().length).toBe(2)
    expect(subjects()).toEqual(['under way', 'later'])
  },
)

test('a message that is being submitted over HTTP is taken and answered', async () => {
  const { relay, directory } = await scene('--http', '127.0.0.1:0')
  const token = (await readFile(join(directory, 'queue', 'http-token'), 'utf8')).trim()
  const url = new URL(/http on (\S+)/.exec(relay.output)![1]!)
  const client = request(`${url.href}/messages?sender=ada@example.org&recipient=grace@example.net`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'message/rfc822',
      expect: '100-continue',
    },
  })
  await once(client, 'continue')
  const ended = relay.kill('SIGTERM')
  await expect.poll(() => relay.log).toContain('stopping: ')
  client.end('Subject: x\r\n\r\nx\r\n')
  const [answer] = (await once(client, 'response')) as [IncomingMessage]
  expect(answer.statusCode).toBe(202)
  answer.resume()
  await ended
  expect(await relay.exit()).toBe(0)
})

test('a client that reads nothing does not keep it from ending', async () => {
  const { relay } = await scene()
  const client = await rawClient(relay.endpoint.port)
  client.socket.pause()
  client.send('NOOP\r\n'.repeat(1_000_000))
  await relay.kill('SIGTERM')
  expect(await relay.exit()).toBe(0)
})

test('a second signal ends it at once', async () => {
  const { relay, subjects } = await scene()
  await send(relay, 'under way')
  await expect.poll(subjects).toEqual(['under way'])
  const ended = relay.kill('SIGTERM')
  await expect.poll(() => relay.log).toContain('stopping: ')
  process.kill(relay.pid!, 'SIGINT')
  await ended
  expect(await relay.exit()).toBe(0)
  expect(relay.log).toContain('"signal":"SIGINT","msg":"ended at once"')
  expect(relay.log).not.toContain('"msg":"stopped')
})

test('a delivery that takes longer than --stop-timeout is cut off, and the log says so', async () => {
  const { relay, subjects } = await scene('--stop-timeout', '100ms')
  await send(relay, 'under way')
  await expect.poll(subjects).toEqual(['under way'])
  await relay.kill('SIGTERM')
  expect(await relay.exit()).toBe(0)
  expect(relay.log).toMatch(/"underWayCount":1,"msg":"stopped before its deliveries had ended/)
})

test('SIGUSR1 opens no debugger, which would obey every user of the machine', async () => {
  const { relay, subjects, answer } = await scene()
  process.kill(relay.pid!, 'SIGUSR1')
  await send(relay, 'behind it')
  await expect.poll(subjects).toEqual(['behind it'])
  answer()
  await relay.kill('SIGTERM')
  expect(await relay.exit()).toBe(0)
  expect(relay.log).not.toContain('Debugger')
})

test('with --stop-timeout 0s nothing is waited for', async () => {
  const { relay, subjects } = await scene('--stop-timeout', '0s')
  await send(relay, 'under way')
  await expect.poll(subjects).toEqual(['under way'])
  await relay.kill('SIGTERM')
  expect(await relay.exit()).toBe(0)
  expect(relay.log).toContain('"msg":"ended at once"')
  expect(relay.log).not.toContain('"msg":"stopp')
})
