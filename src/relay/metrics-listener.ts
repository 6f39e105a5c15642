/** Serves metrics and health over HTTP: `GET /metrics` for Prometheus, `GET /healthz` for a
 * supervisor.
 * Invariant: it reads and changes nothing, and a client that is slow, silent or one of too many
 * takes no more than its bounded share: a connection has one request and `timeoutMs`, there are
 * `clientCountMax` of them (the one that is silent for longest gives way), and all that ask at once
 * get one reading. Every client that can connect may read: there is no password. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { listening, type Listener } from './listening.js'

export interface MetricsSource {
  readonly contentType: string
  metrics(): Promise<string>
  /** Does the queue live? */
  isAlive(): boolean
}

export interface MetricsOptions {
  readonly host: string
  /** 0 takes any free one. */
  readonly port: number
  /** Milliseconds for a request and for its answer, each; default 10 000. */
  readonly timeoutMs?: number
  /** Numbers that could not be read (the client gets 500), and clients that could not be taken. */
  readonly onError?: (error: unknown) => void
}

const clientCountMax = 20
const headerBytesMax = 8192

interface Answer {
  readonly status: number
  readonly contentType: string
  readonly text: string
}

const plain = (status: number, text: string): Answer => ({
  status,
  contentType: 'text/plain; charset=utf-8',
  text: `${text}\n`,
})

/** Answers requests: one scrape at a time, shared by those that ask meanwhile. */
function answering(
  source: MetricsSource,
  onError: (error: unknown) => void,
): (request: IncomingMessage) => Promise<Answer> {
  let reading: Promise<string> | undefined
  const read = (): Promise<string> =>
    (reading ??= source.metrics().finally(() => {
      reading = undefined
    }))
  const pages: Readonly<Record<string, () => Promise<Answer>>> = {
    '/metrics': async () => ({
      status: 200,
      contentType: source.contentType,
      text: await read(),
    }),
    '/healthz': async () => (source.isAlive() ? plain(200, 'alive') : plain(503, 'the queue has crashed')),
  }
  return async ({ method, url = '' }) => {
    const path = url.split('?', 1)[0]!
    const page = Object.hasOwn(pages, path) ? pages[path] : undefined
    if (page === undefined) return plain(404, 'not found')
    if (method !== 'GET' && method !== 'HEAD') return plain(405, 'GET or HEAD')
    try {
      return await page()
    } catch (error) {
      onError(error)
      return plain(500, 'the numbers cannot be read')
    }
  }
}

/** Resolves when the server answers. @throws the system's error when the port cannot be had */
export async function listenMetrics(
  source: MetricsSource,
  { host, port, timeoutMs = 10_000, onError = (): void => {} }: MetricsOptions,
): Promise<Listener> {
  const answerTo = answering(source, onError)
  /** Connections without a request yet, those that wait for longest first: one of these gives way
   * to one too many. */
  const silent = new Set<Socket>()
  const server = createServer(
    {
      maxHeaderSize: headerBytesMax,
      headersTimeout: timeoutMs,
      requestTimeout: timeoutMs,
      connectionsCheckingInterval: timeoutMs / 2,
    },
    (request, response) => {
      silent.delete(request.socket)
      void answerTo(request).then((answer) => send(request, response, answer))
    },
  )
  let clientCount = 0
  server.on('connection', (socket: Socket) => {
    silent.add(socket)
    clientCount++
    socket.once('close', () => {
      silent.delete(socket)
      clientCount--
    })
    const [first] = silent
    if (clientCount > clientCountMax) first?.destroy()
  })
  server.maxConnections = 2 * clientCountMax
  // What comes behind it is not answered: a client that pipelines thousands would have the event
  // loop for itself.
  server.maxRequestsPerSocket = 1
  // Of silence, in either direction.
  server.timeout = timeoutMs
  const bound = await listening(server, host, port)
  server.on('error', onError)
  return {
    ...bound,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

function send({ method }: IncomingMessage, response: ServerResponse, answer: Answer): void {
  const { status, contentType, text } = answer
  response.writeHead(status, {
    'content-type': contentType,
    'content-length': Buffer.byteLength(text),
    ...(status === 405 ? { allow: 'GET, HEAD' } : undefined),
    connection: 'close',
  })
  response.end(method === 'HEAD' ? undefined : text)
}
