/** A relay that only pretends: the HTTP API as far as the console uses it, with a queue of any size
 * that is made up as it is asked for. For what no real relay shows in a test: ten million messages,
 * hostile words, problems of every kind. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type {
  Destination,
  Figures,
  Message,
  Part,
  Problem,
  QueueRow,
  Queues,
} from '../../src/console/facts/api.js'
import { pageHeaders, readyPage } from '../../src/http/wire/pages.js'
import type { ConsolePage } from '../../tools/commands/serve/console-pages.js'

export interface FakeRelayOptions {
  readonly pages: readonly ConsolePage[]
  readonly messageCount: number
  readonly problems?: readonly Problem[]
  readonly destinations?: readonly Destination[]
  readonly messageAt?: (index: number) => Message
  readonly header?: readonly { readonly name: string; readonly value: string }[]
  readonly text?: string
  readonly queues?: Queues
}

export interface FakeRelay {
  readonly port: number
  /** Pages of messages that were asked for. */
  readonly askedCount: () => number
  /** Event streams that are open. */
  readonly streamCount: () => number
  close(): void
}

const startedAt = Date.now() - 3 * 86_400_000

export const plainMessage = (index: number): Message => ({
  id: `01J${index.toString(36).toUpperCase().padStart(9, '0')}`,
  sender: index % 17 === 0 ? '' : `billing-${index % 40}@shop.example.com`,
  recipients: [`customer-${index}@${['example.net', 'mail.example.org', 'example.edu'][index % 3]}`],
  recipientCount: index % 11 === 0 ? 4 : 1,
  queue: index < 40 ? 'active' : index % 9 === 0 ? 'hold' : 'deferred',
  lane: 2,
  acceptedAt: Date.now() - 60_000 * (index % 3000),
  attempts: index % 6,
  dataBytes: 900 + ((index * 7919) % 200_000),
  dueAt: index < 40 ? 0 : index % 9 === 0 ? null : Date.now() + 1000 * (index % 4000),
  notes:
    index % 6 === 0
      ? []
      : [
          {
            kind: 'deferred',
            status: '4.2.1',
            text: '451 4.2.1 mailbox busy, try again later',
            remote: `mx1.example.net[192.0.2.${index % 250}]:25`,
            ranges: [0, 0],
          },
        ],
})

export const plainDestination = (index: number): Destination => ({
  transport: 'smtp',
  nexthop: `site-${index}.example`,
  name: `site-${index}.example`,
  window: index === 0 ? 0 : 20 - (index % 7),
  busy: index === 0 ? 0 : index % 7,
  todo: 4000 >> index,
  state:
    index === 0
      ? {
          kind: 'dead',
          untilAt: Date.now() + 240_000,
          status: '4.4.1',
          text: 'connect: connection timed out',
          remote: 'mx.site-0.example[198.51.100.7]:25',
        }
      : index === 1
        ? { kind: 'suspended', untilAt: Date.now() + 1_800_000, order: null }
        : { kind: 'ready' },
  recovery: index === 2 ? 'slow-start' : 'none',
  rate: 0,
  limit: null,
  perSecond: { delivered: index < 2 ? 0 : 40 / index, deferred: 0, failed: 0 },
  lastReply:
    index === 0
      ? null
      : {
          at: Date.now() - 3000 * index,
          kind: index % 4 === 1 ? 'deferred' : 'delivered',
          status: '2.0.0',
          text:
            index % 4 === 1 ? '451 4.7.1 greylisted, come back in 5 minutes' : '250 2.0.0 Ok: queued as 4F1C',
          remote: `mx.site-${index}.example[198.51.100.${index}]:25`,
        },
})

export const plainQueue = (name: string, more: Partial<QueueRow> = {}): QueueRow => ({
  name,
  isHere: false,
  home: name,
  owner: name,
  address: '192.0.2.1',
  epoch: 12,
  state: 'beats',
  silentMsMin: 0,
  silentMsMax: 5003,
  usedBytes: 3.2e9,
  quotaBytes: 64e9,
  activeCount: null,
  waitingBytes: null,
  ...more,
})

/** A node is gone, and its neighbour has adopted its queue; another one is silent. */
const plainQueues: Queues = {
  store: 'waybill@n1,n2,n3/waybill',
  timeline: 4,
  standbyCount: 2,
  unsafe: [],
  queues: [
    plainQueue('mx1', { isHere: true, activeCount: 1180, waitingBytes: 64_500_000 }),
    plainQueue('mx2', { owner: 'mx1', epoch: 31, usedBytes: 62e9 }),
    plainQueue('mx3', { address: '192.0.2.3', state: 'silent', silentMsMin: 134_000, silentMsMax: null }),
    plainQueue('spare', { home: null, owner: null, address: null, epoch: 0, state: 'none', usedBytes: 0 }),
  ],
}

export async function fakeRelay(options: FakeRelayOptions): Promise<FakeRelay> {
  let asked = 0
  let streams = 0
  const { messageCount, messageAt = plainMessage } = options
  const json = (response: ServerResponse, value: unknown, status = 200): void => {
    response.writeHead(status, {
      'content-type': status < 400 ? 'application/json' : 'application/problem+json',
    })
    response.end(JSON.stringify(value))
  }
  const events = (response: ServerResponse): ((name: string, value: unknown) => void) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    streams++
    response.on('close', () => streams--)
    return (name, value) => void response.write(`event: ${name}\ndata: ${JSON.stringify(value)}\n\n`)
  }
  const operations = new Map<string, object>()
  const routes: readonly [
    RegExp,
    (request: IncomingMessage, response: ServerResponse, url: URL, match: RegExpExecArray) => void,
  ][] = [
    [
      /^\/v1\/session$/,
      (_request, response) =>
        json(response, { name: 'ada', scopes: ['read', 'content', 'operate'], expiresAt: null }),
    ],
    [
      /^\/v1\/queue\/stream$/,
      (request, response) => {
        const send = events(response)
        send('figures', figuresOf(options))
        const timer = setInterval(() => send('figures', figuresOf(options)), 1000)
        request.on('close', () => clearInterval(timer))
      },
    ],
    [
      /^\/v1\/outcomes$/,
      (_request, response) => {
        const send = events(response)
        for (const [number, kind] of (['accepted', 'deferred', 'delivered', 'failed'] as const).entries()) {
          const { id, sender, recipients, recipientCount, notes } = messageAt(number + 1)
          const { status = '', text = '', remote = '' } = notes[0] ?? {}
          const outcome = { number, kind, at: Date.now(), id, sender, recipients, recipientCount, attempt: 1 }
          send(
            kind,
            kind === 'accepted'
              ? { ...outcome, status: '', text: '', remote: '' }
              : { ...outcome, status, text, remote },
          )
        }
      },
    ],
    [
      /^\/v1\/rates$/,
      (_request, response, url) => json(response, ratesOf(url.searchParams.get('span') ?? '')),
    ],
    [
      /^\/v1\/messages$/,
      (_request, response, url) => {
        asked++
        const from = Number(url.searchParams.get('after') ?? 0)
        const end = Math.min(messageCount, from + Number(url.searchParams.get('limit')))
        const messages = Array.from({ length: end - from }, (_, i) => messageAt(from + i))
        json(response, { messages, next: end < messageCount ? String(end) : null, lookedAt: messages.length })
      },
    ],
    [
      /^\/v1\/messages\/([^/]+)$/,
      (_request, response, _url, match) =>
        json(response, { ...messageAt(41), id: decodeURIComponent(match[1]!) }),
    ],
    [/\/structure$/, (_request, response) => json(response, structureOf(options))],
    [/^\/v1\/history$/, (_request, response) => json(response, { entries: [], next: null })],
    [/\/history$/, (_request, response) => json(response, { records: history })],
    [/\/conversations$/, (_request, response) => json(response, { conversations })],
    [
      /\/parts\/[^/]+$/,
      (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' })
        response.end(
          options.text ?? 'Dear customer,\n\nyour order 4711 has been shipped.\n\nYours,\nthe shop\n',
        )
      },
    ],
    [
      /^\/v1\/destinations$/,
      (_request, response) => {
        const { destinations = Array.from({ length: 14 }, (_, i) => plainDestination(i)) } = options
        json(response, { count: destinations.length, destinations })
      },
    ],
    [/^\/v1\/queues$/, (_request, response) => json(response, options.queues ?? plainQueues)],
    [/^\/v1\/qshape$/, (_request, response) => json(response, qshape)],
    [
      /^\/v1\/log\/at$/,
      (_request, response) =>
        json(response, {
          position: 0,
          activeCount: 1180,
          lanes: [
            { lane: 2, queue: 'deferred', intervalMs: 300_000, messageCount: 4711 },
            { lane: 1, queue: 'hold', intervalMs: null, messageCount: 31 },
          ],
          findings: [],
        }),
    ],
    [/^\/v1\/log\/segments$/, (_request, response) => json(response, picture)],
    [
      /^\/v1\/log\/verify$/,
      (_request, response) => {
        const send = events(response)
        send('progress', { done: 1, all: 2 })
        send('result', {
          isSound: true,
          findings: [],
          batchCount: 9,
          recordCount: 1200,
          messageCount,
          dataBytes: 1e9,
          tornTailBytes: 0,
        })
        response.end()
      },
    ],
    [
      /^\/v1\/operations$/,
      (request, response) => {
        void textOf(request).then((text) => {
          const body = JSON.parse(text) as { do: string; selector: object; dryRun?: boolean }
          const id = `op_${operations.size}`
          const counts = { messageCount, recipientCount: messageCount, missedCount: 0, failedCount: 0 }
          const operation = {
            id,
            ...body,
            dryRun: body.dryRun === true,
            by: 'ada',
            startedAt: 0,
            endedAt: 1,
            state: 'done',
            counts,
            sample: [0, 1, 2, 3, 4].map(messageAt),
            problem: null,
          }
          operations.set(id, operation)
          json(response, operation, 202)
        })
      },
    ],
  ]
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://relay')
    const page = options.pages.find(({ path }) => path === url.pathname)
    if (page !== undefined) {
      response.writeHead(200, pageHeaders(readyPage(page)))
      return response.end(page.body)
    }
    for (const [pattern, answer] of routes) {
      const match = pattern.exec(url.pathname)
      if (match !== null) return answer(request, response, url, match)
    }
    json(response, { status: 404, code: 'NOT_FOUND', title: 'There is no such thing.' }, 404)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    askedCount: () => asked,
    streamCount: () => streams,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const piece of request) text += String(piece)
  return text
}

function figuresOf({
  problems = [],
  destinations = Array.from({ length: 6 }, (_, i) => plainDestination(i)),
}: FakeRelayOptions): Figures {
  const at = Date.now()
  const wave = 6 + 2.4 * Math.sin(at / 20_000) + 0.6 * Math.sin(at / 900)
  const lane = (
    number: number,
    queue: 'incoming' | 'deferred' | 'hold',
    intervalMs: number | null,
    waitingBytes: number,
  ): Figures['lanes'][number] => ({
    lane: number,
    queue,
    intervalMs,
    waitingBytes,
    segmentCount: number === 0 ? 0 : 2,
    markCount: number,
    nextDueAt: waitingBytes === 0 || queue === 'hold' ? null : at + (intervalMs ?? 0) / 3,
    damage: null,
  })
  return {
    at,
    version: '0.1.0',
    hostname: 'mail.example.org',
    startedAt,
    recovering: false,
    rates: { accepted: wave, delivered: wave * 1.1, deferred: 0.6, failed: 0.1 },
    totals: { accepted: 1_204_112, delivered: 1_340_977, deferred: 48_211, failed: 2113 },
    active: { count: 1180, max: 20_000 },
    damagedCount: 0,
    sync: { count: 55, perSecond: 55, meanMs: 3.1 + Math.sin(at / 5000), lastMs: 2.9, underWayMs: 0 },
    deliveries: { isHeld: false, heldMs: 0 },
    journal: { segmentCount: 4, spareCount: 2, suffixBytes: 18_400_000, stagedBytes: 0, checkpointCount: 88 },
    lanes: [
      lane(0, 'incoming', 0, 120_000),
      lane(2, 'deferred', 300_000, 4_200_000),
      lane(3, 'deferred', 600_000, 9_100_000),
      lane(4, 'deferred', 1_200_000, 0),
      lane(5, 'deferred', 4_000_000, 51_000_000),
      lane(1, 'hold', null, 80_000),
    ],
    room: { freeBytes: 212e9, freeFiles: 31_000_000, isShort: false },
    destinationCount: 14,
    deadCount: 1,
    suspendedCount: 1,
    problems,
    destinations,
  }
}

function ratesOf(span: string): object {
  const stepMs = span === 'day' ? 60_000 : 1000
  const count = span === 'day' ? 1440 : 900
  const fromAt = Math.floor(Date.now() / stepMs) * stepMs - count * stepMs
  const wave = (scale: number, phase: number): (number | null)[] =>
    Array.from({ length: count }, (_, i) =>
      i > count / 4 && i < count / 4 + 12
        ? null
        : Math.max(
            0,
            Math.round(
              (scale + scale * 0.4 * Math.sin(i / 60 + phase) + 2 * Math.sin(i * 1.7)) * (stepMs / 1000),
            ),
          ),
    )
  return {
    fromAt,
    stepMs,
    accepted: wave(30, 0),
    delivered: wave(33, 0.3),
    deferred: wave(3, 2),
    failed: wave(0.4, 1),
  }
}

const part = (number: string, type: string, bytes: number, more: Partial<Part> = {}): Part => ({
  part: number,
  type,
  charset: null,
  filename: null,
  disposition: null,
  encoding: '7bit',
  bytes,
  ...more,
})

const structureOf = ({ header }: FakeRelayOptions): object => ({
  header: header ?? [
    {
      name: 'Received',
      value: 'from app.example.com by mail.example.org with ESMTPS; Thu, 26 Nov 2026 03:31:07 +0000',
    },
    { name: 'From', value: 'The Shop <billing@shop.example.com>' },
    { name: 'To', value: 'Ada <ada@example.net>' },
    { name: 'Subject', value: 'Your order 4711 has been shipped' },
    { name: 'Date', value: 'Thu, 26 Nov 2026 03:31:06 +0000' },
    { name: 'Message-ID', value: '<4711@shop.example.com>' },
  ],
  tree: part('0', 'multipart/mixed', 18_000, {
    parts: [
      part('1', 'multipart/alternative', 2000, {
        parts: [part('1.1', 'text/plain', 640, { charset: 'utf-8' }), part('1.2', 'text/html', 1360)],
      }),
      part('2', 'application/pdf', 16_000, { filename: 'invoice.pdf', disposition: 'attachment' }),
    ],
  }),
  isTruncated: false,
})

const note = {
  kind: 'deferred',
  status: '4.2.1',
  text: '451 4.2.1 mailbox busy, try again later',
  ranges: [0, 0],
}
const envelope = { id: '01J00041', sender: 'billing@shop.example.com', recipientCount: 1, dataBytes: 18_000 }
const pipelined = [
  'MAIL FROM:<billing@shop.example.com>',
  ...Array.from({ length: 50 }, (_, i) => `RCPT TO:<customer-${i}@example.net>`),
  'DATA',
]
const replyTo = (text: string, i: number): string =>
  text === 'DATA' ? '354 go on' : i % 16 === 15 ? `550 5.1.1 no customer-${i - 1} here` : '250 2.1.5 Ok'
const conversations = [
  {
    at: Date.now() - 240_000,
    server: 'mx.example.net:25',
    lines: [
      { by: 'server', text: '220 mx.example.net ESMTP <b>hi</b>\u202e' },
      { by: 'client', text: 'EHLO relay.example.org', command: 1 },
      { by: 'server', text: '250-mx.example.net\r\n250-PIPELINING\r\n250 8BITMIME', command: 1 },
      // Pipelined: all commands, then all replies.
      ...pipelined.map((text, i) => ({ by: 'client', text, command: i + 2 })),
      ...pipelined.map((text, i) => ({ by: 'server', text: replyTo(text, i), command: i + 2 })),
      { by: 'server', text: '250 2.0.0 Ok: queued as 4F1C', command: pipelined.length + 1 },
    ],
    leftOutCount: 2,
  },
]

const history = [
  { kind: 'envelope', log: 'journal', lane: 0, fields: { ...envelope, attempts: 0, notes: [] } },
  { kind: 'start', log: 'journal', lane: 0, fields: { outOfOrder: false } },
  { kind: 'delivery', log: 'journal', lane: 0, fields: { notes: [note], finishes: false } },
  { kind: 'envelope', log: '2/envelopes', lane: 2, fields: { ...envelope, attempts: 1, notes: [note] } },
].map((record, i) => ({ ...record, at: Date.now() - 700_000 + 300 * i, position: 4096 * i }))

const qshape = {
  heads: ['5', '10', '20', '40', '80', '160', '320', '640', '1280', '1280+'],
  rows: [
    { domain: 'TOTAL', total: 12_644, buckets: [210, 180, 400, 1200, 3100, 4000, 2200, 900, 400, 54] },
    { domain: 'example.net', total: 9000, buckets: [100, 90, 300, 900, 2500, 3200, 1300, 400, 200, 10] },
    { domain: 'example.org', total: 3000, buckets: [100, 80, 90, 290, 500, 700, 800, 300, 100, 40] },
    { domain: 'example.edu', total: 644, buckets: [10, 10, 10, 10, 100, 100, 100, 200, 100, 4] },
  ],
  domainCount: 43,
  findings: [],
}

const mib = 1 << 20
const picture = {
  logs: [
    {
      name: 'journal',
      floor: 130 * mib,
      end: 250 * mib,
      segmentBytes: 64 * mib,
      fileBytes: 256 * mib,
      liveBytes: 120 * mib,
      pinnedBytes: 64 * mib,
      garbageBytes: 0,
      spareCount: 2,
      spareBytes: 128 * mib,
      segments: [
        { index: 1, fileBytes: 64 * mib, contentBytes: 64 * mib, state: 'pinned', pinnedBy: ['01J000041'] },
        { index: 2, fileBytes: 64 * mib, contentBytes: 64 * mib, state: 'live', pinnedBy: [] },
        { index: 3, fileBytes: 64 * mib, contentBytes: 58 * mib, state: 'live', pinnedBy: [] },
      ],
      marks: [
        { name: 'suffix', position: 140 * mib },
        { name: 'end', position: 250 * mib - 1 },
      ],
    },
    {
      name: '2/envelopes',
      floor: 8 * mib,
      end: 40 * mib,
      segmentBytes: 8 * mib,
      fileBytes: 40 * mib,
      liveBytes: 32 * mib,
      pinnedBytes: 0,
      garbageBytes: 8 * mib,
      spareCount: 0,
      spareBytes: 0,
      segments: [0, 1, 2, 3, 4].map((index) => ({
        index,
        fileBytes: 8 * mib,
        contentBytes: index === 4 ? 3 * mib : 8 * mib,
        state: index === 0 ? 'garbage' : 'live',
        pinnedBy: [],
      })),
      marks: [{ name: 'runner', position: 11 * mib }],
    },
  ],
  restart: { life: 12, suffix: 140 * mib, end: 250 * mib, suffixBytes: 110 * mib, activeCount: 1180 },
  findings: [],
}
