import { expect, test } from 'vitest'
import type { Sample, WatchedDestination } from '../../../src/control/protocol.js'
import {
  isSameLife,
  topFrame,
  type FrameSize,
  type TopView,
} from '../../../tools/commands/watch/top-frame.js'
import { topJson } from '../../../tools/commands/watch/top-json.js'
import { destinationAt, idleStatistics, plentyOfRoom } from '../../control/fake-queue.js'

const wallMs = new Date(2026, 10, 21, 3, 30, 12).getTime()
const { destinations: _none, ...idle } = idleStatistics

const at = (
  nexthop: string,
  deliveredCount: number,
  more: Partial<WatchedDestination> = {},
): WatchedDestination => ({
  ...destinationAt(nexthop, more),
  deliveredCount,
})

const before: Sample = {
  atMs: 1000,
  wallMs: wallMs - 2000,
  acceptedCount: 100,
  deliveredCount: 1000,
  deferredCount: 7,
  failedCount: 0,
  statistics: idle,
  destinationCount: 2,
  destinations: [at('quick.example', 0), at('slow.example', 10)],
}

const dead = {
  kind: 'dead',
  untilMs: wallMs + 240_000,
  reason: { status: '4.4.1', text: 'no route\x1b[2J' },
} as const

const now: Sample = {
  atMs: 3000,
  wallMs,
  acceptedCount: 2600,
  deliveredCount: 5001,
  deferredCount: 8,
  failedCount: 0,
  statistics: {
    ...idle,
    activeCount: 1234,
    activeCountMax: 20_000,
    transports: [],
    lanes: [
      ...idle.lanes,
      {
        lane: 2,
        kind: 'retry',
        intervalMs: 300_000,
        waitingBytes: 2_000_000,
        segmentCount: 3,
        nextDueAt: wallMs + 65_000,
        markCount: 17,
        damage: undefined,
      },
    ],
    journal: {
      ...idle.journal,
      syncCount: 1007,
      syncTotalMs: 603.5,
      writtenBytes: 8_070_000,
      suffixBytes: 70_000,
    },
  },
  room: plentyOfRoom,
  destinationCount: 5,
  destinations: [
    at('dead.example', 0, { state: dead, window: 0 }),
    at('quick.example', 4000, { todo: 100, busy: 20, window: 20 }),
    at('slow.example', 11, { todo: 50, busy: 5 }),
    at('stuck.example', 0, { todo: 3, busy: 1, recovery: 'canary' }),
  ],
}

const counts = {
  atMs: wallMs - 8000,
  byLane: new Map([
    [1, { count: 3, dataBytes: 3000 }],
    [2, { count: 12_345, dataBytes: 12_000_000 }],
  ]),
}

const view: TopView = { queue: './var/queue', now, before, counts }
const wide: FrameSize = { columns: 100, rows: 40 }
const textOf = (shown: TopView, size = wide): string =>
  topFrame(shown, size)
    .map(({ text }) => text)
    .join('\n')

test('a frame shows rates, journal, lanes and the slowest destinations', () => {
  expect(textOf(view)).toBe(
    `
waybill top  ./var/queue                                                         Sat Nov 21 03:30:12
dead.example (out) is dead: no route?[2J
accepted  1 250/s   delivered  2 001/s   deferred    0.5/s   failed    0.0/s
sync latency 0.60 ms, 500/s, last 0.50 ms   active 1 234 of 20 000
free disk 50 GiB   a start would read 68 KiB   journal 2 segments, 2 spare
written 3.8 MiB/s   not yet durable 0 bytes   checkpoints 1

lanes, counted 8s ago
queue         lane  next due  messages     data  waiting  marks
incoming      0            –         0  0 bytes        0      0
deferred, 5m  2      in 1m5s    12 345   11 MiB  1.9 MiB     17
hold          1            –         3  2.9 KiB  4.0 KiB      0

destinations, 5, the slowest first
destination    state     waiting  in flight  delivered  done in  reason
dead.example   dead, 4m        0     0 of 0      0.0/s           4.4.1 no route?[2J
stuck.example  canary          3     1 of 5      0.0/s        –
slow.example   ready          50     5 of 5      0.5/s    1m50s
quick.example  ready         100   20 of 20    2 000/s     60ms
and 1 more`.slice(1),
  )
})

test('without an earlier sample there are no rates, and without counts no messages', () => {
  const text = textOf({ ...view, before: undefined, counts: undefined })
  expect(text).toContain('accepted        –   delivered        –')
  expect(text).toContain('lanes, counting …')
  expect(text).toMatch(/^deferred, 5m {2}2 {6}in 1m5s {9}– {5}– /m)
})

test.each<[string, Partial<Sample['statistics']>, RegExp]>([
  ['a recovery', { recovering: true }, /^A recovery reads what was being worked on/m],
  [
    'a full disk',
    { journal: { ...idle.journal, diskFull: true } },
    /^The disk is too full: no new mail is accepted\.$/m,
  ],
  ['a message that cannot be read', { damagedCount: 1 }, /^1 message that the recovery could not read/m],
  [
    'a lane that stands still',
    { lanes: [{ ...idle.lanes[0]!, damage: 'LOG_CORRUPT\x07' }] },
    /^Lane 0 stands still: LOG_CORRUPT\?\.$/m,
  ],
])(
  '%s is told below the title as the console tells it, in the colour of trouble',
  (_, statistics, sentence) => {
    const shown = { ...view, now: { ...now, statistics: { ...now.statistics, ...statistics } } }
    expect(textOf(shown)).toMatch(sentence)
    expect(topFrame(shown, wide)[1]?.style).toBe('trouble')
  },
)

test('what the relay says of itself stands below the title, and nothing else', () => {
  const problems = [
    { code: 'WEBHOOK_UNANSWERED', severity: 'warning', text: 'The webhook is not\x07 answered.' },
    { code: 'NOTHING_DELIVERED', severity: 'warning', text: 'The relay was started with --freeze.' },
  ]
  const shown = { ...view, now: { ...now, problems } }
  expect(textOf(shown).split('\n').slice(1, 4)).toEqual([
    'The webhook is not? answered.',
    'The relay was started with --freeze.',
    expect.stringMatching(/^accepted/),
  ])
  expect(topJson(shown)['problems']).toEqual(problems)
  // An earlier relay does not say it.
  expect(topJson(view)['problems']).toMatchObject([{ code: 'DESTINATION_DEAD' }])
})

test('a queue without a problem is well', () => {
  const shown = { ...view, now: { ...now, destinations: now.destinations.slice(1) } }
  expect(topFrame(shown, wide)[1]).toEqual({ text: 'All is well', style: 'plain' })
})

test('a frame of 80 columns loses the end of a reason and nothing else', () => {
  const lines = topFrame(view, { columns: 80, rows: 24 }).map(({ text }) => text)
  expect(lines.filter((text) => text.includes('…') && !text.startsWith('dead.example '))).toEqual([])
})

test.each([
  [100, 40],
  [60, 10],
  [20, 3],
  [1, 1],
])('a frame fits %d columns and %d rows', (columns, rows) => {
  const lines = topFrame(view, { columns, rows })
  expect(lines.length).toBeLessThanOrEqual(rows)
  for (const { text } of lines) expect(text.length).toBeLessThanOrEqual(columns)
})

test('a frame of any size is whole', () => {
  const lines = topFrame(view, { columns: Infinity, rows: Infinity })
  expect(lines.some(({ text }) => text.includes('…'))).toBe(false)
})

test('a relay that was started anew has no rates with the last one', () => {
  expect(isSameLife(before, now)).toBe(true)
  expect(isSameLife(now, before)).toBe(false)
  expect(isSameLife({ ...before, acceptedCount: 9999 }, now)).toBe(false)
})

test('a frame for programs has numbers, and null for what is not known', () => {
  expect(topJson(view)).toMatchObject({
    accepted_rate: 1250,
    delivered_rate: 2000.5,
    sync_mean_ms: 0.6,
    active: 1234,
    damaged: 0,
    lanes: [
      { queue_name: 'incoming', lane: 0, interval_ms: 0, messages: 0 },
      { queue_name: 'hold', lane: 1, interval_ms: null, messages: 3 },
      { queue_name: 'deferred', lane: 2, interval_ms: 300_000, messages: 12_345, marks: 17 },
    ],
    destination_count: 5,
    destinations: [{ destination: 'dead.example', state: 'dead' }, {}, { delivered_rate: 0.5 }, {}],
  })
  expect(topJson({ now, before: undefined, counts: undefined })).toMatchObject({
    accepted_rate: null,
    sync_mean_ms: null,
    counted_time: null,
    lanes: [{ messages: null }, {}, {}],
    destinations: [{ delivered_rate: null }, {}, {}, {}],
  })
})
