/** A queue with the HTTP API before it, and a client with a token. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { Figures } from '../../src/http/figures/figures.js'
import { listenHttp, type HttpListener, type HttpOptions } from '../../src/http/http-server.js'
import { Operations } from '../../src/http/api/operations.js'
import { newToken, tokenLine, tokensIn, type Scope, type Tokens } from '../../src/http/wire/tokens.js'
import { fixedRetry, openQueue, type OpenOptions, type Outcome, type Queue } from '../../src/index.js'
import { laySmallQueue } from '../end-to-end/laid-queue.js'

/** Members of answers that tests look at. */
export interface Told {
  readonly id: string
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly place: unknown
  readonly state: string
  readonly counts: { readonly messageCount: number }
  readonly sample: readonly unknown[]
  readonly operations: readonly { readonly id: string }[]
  readonly messages: readonly { readonly id: string }[]
  readonly next: string | null
  readonly damage: unknown
  readonly totals: { readonly deferred: number; readonly delivered: number; readonly failed: number }
  readonly active: { readonly count: number }
  readonly lanes: readonly { readonly queue: string }[]
  readonly destinations: readonly unknown[]
  readonly stepMs: number
  readonly accepted: readonly unknown[]
}

export interface HttpStage {
  readonly queue: Queue
  readonly directory: string
  readonly listener: HttpListener
  readonly url: string
  readonly errors: unknown[]
  /** Data that was delivered, by recipient. */
  readonly delivered: Map<string, string>
  answer: () => Outcome
  /** No attempt ends until what this returns is called. */
  readonly holdAnswers: () => () => void
  tokens: Tokens
  readonly token: (scope: Scope) => string
  /** A request with a token of this scope. */
  readonly ask: (scope: Scope, path: string, init?: RequestInit) => Promise<Response>
  /** Its JSON, whatever the status. */
  readonly json: (scope: Scope, path: string, init?: RequestInit) => Promise<Told>
  readonly post: (scope: Scope, path: string, body: unknown) => Promise<Response>
  readonly submit: (recipient: string, more?: object) => Promise<string>
  readonly until: (holds: () => boolean | Promise<boolean>) => Promise<void>
}

const scopesOfStage: readonly Scope[] = ['read', 'content', 'submit', 'operate']

export async function httpStage(
  options: Partial<HttpOptions> = {},
  queueOptions: Partial<OpenOptions> = {},
): Promise<HttpStage> {
  const parent = await mkdtemp(join(tmpdir(), 'waybill-http-'))
  const directory = join(parent, 'queue')
  laySmallQueue(directory)
  const delivered = new Map<string, string>()
  const errors: unknown[] = []
  let held = Promise.resolve()
  const queue = await openQueue(directory, {
    transports: {
      out: {
        deliver: async (request) => {
          await held
          const outcome = stage.answer()
          const data = await request.data()
          if (outcome.kind === 'delivered')
            for (const recipient of request.recipients)
              delivered.set(recipient, Buffer.isBuffer(data) ? data.toString() : data.ref)
          return outcome
        },
      },
    },
    route: (recipient) => ({ transport: 'out', nexthop: recipient.slice(recipient.lastIndexOf('@') + 1) }),
    retry: fixedRetry([3_600_000]),
    ...queueOptions,
  })
  const made = new Map(scopesOfStage.map((scope) => [scope, newToken()]))
  const lines = [...made].map(([scope, token]) =>
    tokenLine(token, { name: scope, scopes: [scope], expiresAt: undefined }),
  )
  const tokens = tokensIn(lines.join('\n'), 'tokens')
  const figures = new Figures(queue, { clock: systemClock, version: '1.2.3', hostname: 'mail.example.org' })
  const listener = await listenHttp(queue, {
    host: '127.0.0.1',
    port: 0,
    tokens: () => stage.tokens,
    figures,
    operations: new Operations(queue, systemClock, { onDefect: (error) => errors.push(error) }),
    version: '1.2.3',
    hostname: 'mail.example.org',
    onError: (error) => errors.push(error),
    ...options,
  })
  onTestFinished(async () => {
    listener.close()
    await figures.end()
    queue.crash()
    await rm(parent, { recursive: true, force: true })
  })
  const url = `http://127.0.0.1:${listener.port}`
  const ask: HttpStage['ask'] = (scope, path, init = {}) =>
    fetch(`${url}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${made.get(scope)}`, ...(init.headers as object) },
    })
  const post: HttpStage['post'] = (scope, path, body) =>
    ask(scope, path, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    })
  const stage: HttpStage = {
    queue,
    directory,
    listener,
    url,
    errors,
    delivered,
    answer: () => ({ kind: 'deferred', status: '4.2.2', reason: 'full' }),
    holdAnswers: () => {
      let release = (): void => undefined
      held = new Promise((resolve) => (release = resolve))
      return release
    },
    tokens,
    token: (scope) => made.get(scope)!,
    ask,
    json: async (scope, path, init) => (await (await ask(scope, path, init)).json()) as Told,
    post,
    submit: async (recipient, more = {}) => {
      const data = 'Subject: test\r\n\r\nHello.\r\n'
      const { id } = await queue.submit({
        sender: 'ada@example.org',
        recipients: [recipient],
        data,
        ...more,
      })
      return id
    },
    until: async (holds) => {
      while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 5))
    },
  }
  return stage
}

export interface ServerEvent {
  readonly id: string | undefined
  readonly event: string
  readonly data: Told
}

/** Events of a stream, until the reader returns. */
export async function* eventsOf(response: Response): AsyncGenerator<ServerEvent> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(piece, { stream: true })
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const lines = text.slice(0, end).split('\n')
      text = text.slice(end + 2)
      const field = (name: string): string | undefined =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
      const data = field('data')
      if (data !== undefined)
        yield { id: field('id'), event: field('event') ?? '', data: JSON.parse(data) as Told }
    }
  }
}
