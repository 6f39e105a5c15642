/** A server before a queue that is only memory, and clients, all closed after the test. */
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { connect, type TLSSocket } from 'node:tls'
import { onTestFinished } from 'vitest'
import type { Client, SubmitPort } from '../../../src/relay/smtp-in/smtp-handlers.js'
import type { Listener } from '../../../src/relay/listening.js'
import { listenSmtp, type SmtpServerOptions } from '../../../src/relay/smtp-in/smtp-in.js'
import { certificate } from '../certificate.js'
import { clientOn, rawClient, type RawClient } from '../raw-client.js'

export interface Kept {
  readonly sender: string
  readonly recipients: Parameters<SubmitPort['submit']>[0]['recipients']
  readonly dsn: Parameters<SubmitPort['submit']>[0]['dsn']
  readonly data: Buffer
  readonly smtputf8: boolean
  readonly streamed: boolean
  readonly client: Client
}

/** Keeps what is submitted in memory, after `before`. */
export function memoryQueue(
  before: () => Promise<void> = () => Promise.resolve(),
  limits = { dataBytesMax: 2_000_000, recipientCountMax: 100 },
): SubmitPort & { readonly kept: Kept[]; submitCount: number } {
  const queue = {
    kept: [] as Kept[],
    submitCount: 0,
    limits,
    submit: async ({ data, ...envelope }: Parameters<SubmitPort['submit']>[0], client: Client) => {
      queue.submitCount++
      await before()
      const whole = Buffer.isBuffer(data) ? data : await drained(data)
      queue.kept.push({ ...envelope, data: whole, streamed: !Buffer.isBuffer(data), client })
      return { id: `q${queue.kept.length}` }
    },
  }
  return queue
}

async function drained(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

export async function listen(queue: SubmitPort, options: Partial<SmtpServerOptions> = {}): Promise<Listener> {
  const { ports, close } = await listenSmtp(queue, {
    // What a test sends is what the queue gets, unless the test is about that.
    completesHeader: false,
    places: [{ host: '127.0.0.1', port: 0 }],
    purpose: 'local',
    hostname: 'mx.example.net',
    received: false,
    ...options,
  })
  onTestFinished(close)
  return { ...ports[0]!, close }
}

/** A server where sessions begin with TLS. */
export const listenTls = (queue: SubmitPort, options: Partial<SmtpServerOptions> = {}): Promise<Listener> =>
  listen(queue, {
    tls: certificate,
    places: [{ host: '127.0.0.1', port: 0, implicitTls: true }],
    ...options,
  })

export const connected = (
  listener: Listener,
  options?: Parameters<typeof rawClient>[2],
): Promise<RawClient> => rawClient(listener.port, undefined, options)

/** The session goes on encrypted, after `220`, or begins so. */
export async function encrypted({ socket }: RawClient): Promise<RawClient> {
  socket.removeAllListeners('data')
  const secure: TLSSocket = connect({ socket, ca: certificate.cert, host: 'localhost' })
  await once(secure, 'secureConnect')
  onTestFinished(() => void secure.destroy())
  return clientOn(secure)
}
