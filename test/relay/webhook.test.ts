/** Outcomes that are posted to a receiver. */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Worker } from 'node:worker_threads'
import { Webhook } from 'standardwebhooks'
import { expect, onTestFinished, test } from 'vitest'
import {
  checkWebhookOptions,
  postOutcomes,
  retryAfterMs,
  type WebhookBody,
  type WebhookOptions,
  type WebhookTrouble,
} from '../../src/relay/webhook.js'
import { codeOf, pause, real, submission, type Stage } from '../engine/stage.js'

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

interface Posted {
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly body: WebhookBody
}

/** @param answer the status for the n-th request; undefined: none is given
 * @param headers of each answer */
async function receiver(
  answer: (n: number, text: string) => number | undefined,
  headers: Record<string, string> = { location: '/elsewhere' },
) {
  const posted: Posted[] = []
  const server: Server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8')
    request.on('data', (piece: string) => (text += piece))
    request.on('end', () => {
      posted.push({ headers: request.headers, text, body: JSON.parse(text) as WebhookBody })
      const status = answer(posted.length, text)
      if (status !== undefined) response.writeHead(status, headers).end('text')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, posted }
}

function posting(stage: Stage, options: Partial<WebhookOptions> & Pick<WebhookOptions, 'url'>) {
  const abort = new AbortController()
  const ended = postOutcomes(stage.queue, { secret, retryMs: 1, signal: abort.signal, ...options })
  ended.catch(() => undefined)
  onTestFinished(() => abort.abort())
  return { ended, abort, isKnown: () => stage.until('it is known', () => stage.queue.consumers().length > 0) }
}

const kindsOf = (posted: readonly Posted[]): string[] =>
  posted.flatMap(({ body }) => body.data.map(({ kind }) => kind))

test('outcomes are posted in order, signed as Standard Webhooks has it', async () => {
  await real(async (stage) => {
    await stage.open()
    const { url, posted } = await receiver(() => 200)
    const webhook = posting(stage, { url })
    await webhook.isKnown()
    const { id } = await stage.queue.submit(submission())
    await stage.until('all are posted', () => kindsOf(posted).length === 3)
    expect(kindsOf(posted)).toEqual(['accepted', 'delivered', 'finished'])
    for (const { headers, text } of posted)
      expect(new Webhook(secret).verify(text, headers as Record<string, string>)).toMatchObject({
        type: 'outcomes',
        timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      })
    expect(posted[0]!.body.data[0]).toMatchObject({ number: 1, id, sender: 'ada@example.org' })
  })
})

test.each([
  [500, 'the receiver answered 500'],
  [302, 'the receiver answered 302'],
  [404, 'the receiver answered 404'],
])(
  'a batch that is answered %i is posted again, with its id, before the next one',
  async (status, reason) => {
    await real(async (stage) => {
      await stage.open()
      const troubles: (WebhookTrouble | undefined)[] = []
      const { url, posted } = await receiver((n) => (n <= 2 ? status : 204))
      const webhook = posting(stage, { url, batchMax: 1, onTrouble: (trouble) => troubles.push(trouble) })
      await webhook.isKnown()
      await stage.queue.submit(submission())
      await stage.until('all are posted', () => posted.length === 5)
      expect(posted.map(({ headers }) => headers['webhook-id'])).toEqual([
        'webhook_1-1',
        'webhook_1-1',
        'webhook_1-1',
        'webhook_2-2',
        'webhook_3-3',
      ])
      const waitMs = expect.any(Number) as number
      expect(troubles).toEqual([
        { status, reason, waitMs, attempt: 1 },
        { status, reason, waitMs, attempt: 2 },
        undefined,
      ])
    })
  },
)

test('while a secret is changed requests are signed by both, and a login in the address is sent', async () => {
  await real(async (stage) => {
    await stage.open()
    const next = `whsec_${Buffer.alloc(24, 8).toString('base64')}`
    const { url, posted } = await receiver(() => 200)
    const withLogin = url.replace('//', '//ad%40a:se:cret@')
    const webhook = posting(stage, { url: withLogin, secret: [secret, next] })
    await webhook.isKnown()
    await stage.queue.submit(submission())
    await stage.until('it is posted', () => posted.length > 0)
    const { text, headers } = posted[0]!
    for (const one of [secret, next])
      expect(new Webhook(one).verify(text, headers as Record<string, string>)).toEqual(JSON.parse(text))
    expect(headers.authorization).toBe(`Basic ${Buffer.from('ad@a:se:cret').toString('base64')}`)
  })
})

test('a secret that is a function is asked for each request', async () => {
  await real(async (stage) => {
    await stage.open()
    const next = `whsec_${Buffer.alloc(24, 8).toString('base64')}`
    let current = secret
    const { url, posted } = await receiver((n) => {
      current = next
      return n === 1 ? 401 : 200
    })
    const webhook = posting(stage, { url, secret: () => current })
    await webhook.isKnown()
    await stage.queue.submit(submission())
    await stage.until('it is posted again', () => posted.length > 1)
    for (const [i, one] of [secret, next].entries()) {
      const { text, headers } = posted[i]!
      expect(new Webhook(one).verify(text, headers as Record<string, string>)).toEqual(JSON.parse(text))
    }
  })
})

test('a secret that cannot be had is a trouble, and its request is made again', async () => {
  await real(async (stage) => {
    await stage.open()
    const { url } = await receiver(() => 204)
    const troubles: unknown[] = []
    let askedCount = 0
    const secretOf = (): string => {
      // The first is asked for at the start.
      if (++askedCount === 2) return ''
      if (askedCount === 3) throw new Error('no file')
      return secret
    }
    const onTrouble = (trouble: unknown): void => void troubles.push(trouble)
    const webhook = posting(stage, { url, secret: secretOf, onTrouble })
    await webhook.isKnown()
    await stage.queue.submit(submission())
    await stage.until('it is answered', () => troubles.length > 2)
    expect(troubles).toMatchObject([
      { status: undefined, reason: expect.stringContaining('a secret is whsec_') as string, attempt: 1 },
      { status: undefined, reason: 'no file', attempt: 2 },
      undefined,
    ])
  })
})

test('a listener of troubles that throws ends no posting', async () => {
  await real(async (stage) => {
    await stage.open()
    const { url, posted } = await receiver((n) => (n === 1 ? 500 : 204))
    let toldCount = 0
    const onTrouble = (): never => {
      toldCount++
      throw new Error('of the listener')
    }
    const webhook = posting(stage, { url, onTrouble })
    await webhook.isKnown()
    await stage.queue.submit(submission())
    await stage.until('all are posted', () => new Set(kindsOf(posted)).size === 3)
    expect(toldCount).toBe(2)
  })
})

test('a receiver that never answers delays no mail, and gets all of it in the next life', async () => {
  await real(async (stage) => {
    await stage.open()
    const silent = await receiver(() => undefined)
    const webhook = posting(stage, { url: silent.url, timeoutMs: 50 })
    await webhook.isKnown()
    for (let i = 0; i < 20; i++) await stage.queue.submit(submission())
    await stage.queue.idle()
    expect(stage.told('delivered')).toHaveLength(20)
    await stage.until('it was asked twice', () => silent.posted.length >= 2)
    webhook.abort.abort()
    await webhook.ended
    await stage.open()
    const { url, posted } = await receiver(() => 200)
    posting(stage, { url })
    await stage.until('all are posted', () => kindsOf(posted).length === 60)
    expect(kindsOf(posted).filter((kind) => kind === 'finished')).toHaveLength(20)
  })
})

test('an answer is not waited for longer than fetch waits', async () => {
  const queue = { outcomeBatches: () => expect.unreachable() }
  const options = { url: 'http://127.0.0.1:9/', secret: `whsec_${'A'.repeat(40)}`, timeoutMs: 300_001 }
  expect(await codeOf(postOutcomes(queue, options))).toBe('OPTION_INVALID')
})

test('a receiver whose requests have a bound gets fewer outcomes at once, each once and in order', async () => {
  await real(async (stage) => {
    await stage.open()
    const taken: number[] = []
    const { url } = await receiver((_, text) => {
      const { data } = JSON.parse(text) as { data: { number: number }[] }
      if (text.length > 2000) return 413
      taken.push(...data.map(({ number }) => number))
      return 200
    })
    const troubles: unknown[] = []
    const webhook = posting(stage, { url, onTrouble: (trouble) => troubles.push(trouble) })
    await webhook.isKnown()
    await Promise.all(Array.from({ length: 20 }, () => stage.queue.submit(submission())))
    await stage.until('all are taken', () => taken.length >= 60)
    expect(taken).toEqual(Array.from({ length: 60 }, (_, i) => i + 1))
    expect(troubles).toEqual([])
  })
})

const many = Array.from({ length: 10 }, (_, i) => `someone-with-a-long-name-${i}@example.net`)

test('an outcome that is too large alone comes without its recipients', async () => {
  await real(async (stage) => {
    await stage.open()
    const { url, posted } = await receiver((_, text) => (text.length > 600 ? 413 : 200))
    const webhook = posting(stage, { url, kinds: ['accepted', 'finished'] })
    await webhook.isKnown()
    await stage.queue.submit(submission(many))
    await stage.until('its end is posted', () => kindsOf(posted).includes('finished'))
    const [accepted] = posted.filter(({ text }) => text.length <= 600).flatMap(({ body }) => body.data)
    expect(accepted).toMatchObject({ kind: 'accepted', recipients: [], recipientCount: 10 })
  })
})

test('a receiver that is too busy says for how long it wants no request', async () => {
  await real(async (stage) => {
    await stage.open()
    const { url, posted } = await receiver((n) => (n === 1 ? 429 : 200), { 'retry-after': '1' })
    const waits: unknown[] = []
    const webhook = posting(stage, { url, onTrouble: (trouble) => waits.push(trouble?.waitMs) })
    await webhook.isKnown()
    await stage.queue.submit(submission())
    await stage.until('it is taken', () => waits.length >= 2)
    expect(waits).toEqual([1000, undefined])
    expect(posted[0]!.headers['webhook-id']).toBe(posted[1]!.headers['webhook-id'])
  })
})

test.each([
  ['120', 120_000],
  ['0', 0],
  ['999999', 3_600_000],
  ['Mon, 30 Nov 2026 12:00:30 GMT', 30_000],
  ['Mon, 30 Nov 2026 11:00:00 GMT', 0],
  ['soon', 0],
  [null, 0],
])('Retry-After %s is a wait of %d ms', (text, waitMs) => {
  expect(retryAfterMs(text, Date.UTC(2026, 10, 30, 12))).toBe(waitMs)
})

test('a body that comes behind its header leaves the connection to the next request, one without an end does not', async () => {
  await real(async (stage) => {
    await stage.open()
    const ports: (number | undefined)[] = []
    let isEndless = false
    const server = createServer((request, response) => {
      ports.push(request.socket.remotePort)
      request.resume().on('end', () => {
        response.writeHead(200).flushHeaders()
        setTimeout(() => (isEndless ? response.write('text') : response.end('text')), 10)
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const webhook = posting(stage, { url, kinds: ['accepted'] })
    await webhook.isKnown()
    const post = async (count: number): Promise<void> => {
      await stage.queue.submit(submission())
      await stage.until('it is posted', () => ports.length === count)
    }
    for (const count of [1, 2, 3]) await post(count)
    expect(new Set(ports).size).toBe(1)
    isEndless = true
    for (const count of [4, 5]) await post(count)
    expect(ports[4]).not.toBe(ports[3])
  })
})

test('an answer that came while the program computed counts', async () => {
  await real(async (stage) => {
    await stage.open()
    const worker = new Worker(otherThread, { eval: true })
    onTestFinished(() => void worker.terminate())
    const [port] = (await once(worker, 'message')) as [number]
    const requests: unknown[] = []
    worker.on('message', (request) => requests.push(request))
    const webhook = posting(stage, { url: `http://127.0.0.1:${port}/`, timeoutMs: 500 })
    await webhook.isKnown()
    await stage.queue.submit(submission())
    await once(worker, 'message')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500)
    const isDone = (): boolean => stage.queue.consumers().every(({ cursor, last }) => cursor === last)
    await stage.queue.idle()
    await stage.until('the consumer has all', isDone)
    expect(requests).toHaveLength(new Set(requests).size)
  })
})

/** A receiver that answers after a tenth of a second, whatever this thread does, and tells the id
 * of each message. */
const otherThread = `
  const { parentPort } = require('node:worker_threads')
  const server = require('node:http').createServer((request, response) => {
    request.resume()
    parentPort.postMessage(request.headers['webhook-id'])
    setTimeout(() => response.end(), 100)
  })
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))`

test('only the kinds that are wanted are posted', async () => {
  await real(async (stage) => {
    await stage.open()
    const { url, posted } = await receiver(() => 200)
    const webhook = posting(stage, { url, kinds: ['finished'] })
    await webhook.isKnown()
    await stage.queue.submit(submission())
    await stage.queue.submit(submission())
    await stage.until('both are posted', () => kindsOf(posted).length === 2)
    await pause(stage, 50)
    expect(kindsOf(posted)).toEqual(['finished', 'finished'])
  })
})

test('it ends with the life of the queue', async () => {
  await real(async (stage) => {
    await stage.open()
    const { url } = await receiver(() => 200)
    const webhook = posting(stage, { url })
    await webhook.isKnown()
    stage.queue.crash()
    expect(await codeOf(webhook.ended)).toBe('QUEUE_CRASHED')
  })
})

test('an hour that a receiver asks for ends with the life of the queue, too', async () => {
  await real(async (stage) => {
    await stage.open()
    const { url, posted } = await receiver(() => 503, { 'retry-after': '3600' })
    const webhook = posting(stage, { url })
    await webhook.isKnown()
    await stage.queue.submit(submission())
    await stage.until('it is asked for', () => posted.length > 0)
    stage.queue.crash()
    expect(await codeOf(webhook.ended)).toBe('QUEUE_CRASHED')
    expect(posted).toHaveLength(1)
  })
})

test.each([
  [{ url: 'ftp://127.0.0.1/' }, 'url'],
  [{ url: 'nowhere' }, 'url'],
  [{ url: 'http://%zz@127.0.0.1/' }, 'url'],
  [{ secret: 'password' }, 'secret'],
  [{ secret: [] }, 'secret'],
  [{ secret: [secret, 'password'] }, 'secret'],
  [{ secret: `whsec_${Buffer.alloc(8).toString('base64')}` }, 'secret'],
  [{ kinds: ['opened'] }, 'kinds'],
  [{ batchMax: 0 }, 'batchMax'],
])('the options %j are refused, and %s is named', (wrong, option) => {
  const options = { url: 'http://127.0.0.1/', secret, ...wrong } as WebhookOptions
  expect(() => checkWebhookOptions(options)).toThrow(expect.objectContaining({ place: { option } }) as Error)
})
