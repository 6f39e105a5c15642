/** A queue in a registry of prom-client. */
import { EventEmitter } from 'node:events'
import { Gauge, Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { countedByEvents, notedByEvents } from '../../src/adapters/event-metrics.js'
import { asked, followed, measured } from '../../src/adapters/metrics.js'
import { prometheus, type WatchedQueue } from '../../src/adapters/prometheus.js'
import { warningCodes } from '../../src/errors.js'
import {
  fixedRetry,
  type Outcome,
  type QueueEvents,
  type QueueStatistics,
  type Room,
} from '../../src/index.js'
import { destinationAt, idleStatistics } from '../control/fake-queue.js'
import { openStage } from './stage.js'

type Values = Readonly<Record<string, number>>

/** `name{label="x"}` → value. */
async function scrape(registry: Registry): Promise<Values> {
  const lines = (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  const pairs = lines.map((line) => /^(\S+(?:\{.*\})?) (\S+)$/.exec(line)!)
  const values = pairs.map(([, name, value]) => [name!, value === '+Inf' ? Infinity : Number(value)] as const)
  expect(new Set(values.map(([name]) => name)).size, 'each series once').toBe(values.length)
  return Object.fromEntries(values)
}

class StillQueue extends EventEmitter<QueueEvents> implements Pick<WatchedQueue, 'stats' | 'room'> {
  isCrashed = false
  statsCount = 0
  statistics: QueueStatistics = idleStatistics
  answer: () => Promise<Room> = () =>
    Promise.resolve({ freeBytes: 5e9, freeFiles: 1000, isShort: false, shortOf: undefined })

  stats(): QueueStatistics {
    this.statsCount++
    return this.statistics
  }

  room(): Promise<Room> {
    return this.answer()
  }
}

const watch = (queue: StillQueue, registry?: Registry): Registry =>
  prometheus(queue as unknown as WatchedQueue, registry)

test('what a consumer has not acknowledged is counted by its name', async () => {
  const { queue } = await openStage()
  const registry = prometheus(queue)
  const outcomes = queue.outcomes({ consumer: 'webhook' })
  const first = outcomes.next()
  await expect.poll(() => queue.consumers()).toHaveLength(1)
  await queue.submit({ sender: '', recipients: ['a@example.net'], data: 'Subject: x\r\n\r\nx\r\n' })
  await first
  const name = 'waybill_consumer_waiting_outcomes{consumer="webhook"}'
  await expect.poll(async () => (await scrape(registry))[name]).toBe(3)
  expect(queue.consumers()).toEqual([{ name: 'webhook', cursor: 0, last: 3 }])
  queue.crash()
  expect(Object.keys(await scrape(registry))).not.toContain(name)
})

test('mail that was given up is an outcome, also when nobody is told', async () => {
  const stage = await openStage({ retry: fixedRetry([50], 1) })
  stage.answer = () => ({ kind: 'deferred', status: '4.2.1', reason: 'later' })
  const { queue } = stage
  const registry = prometheus(queue)
  await queue.submit({
    sender: '',
    recipients: ['later@example.net', 'never@example.net'],
    data: 'Subject: x\r\n\r\nx\r\n',
  })
  await expect
    .poll(() => scrape(registry))
    .toMatchObject({
      'waybill_outcomes_total{outcome="expired"}': 2,
      'waybill_outcomes_total{outcome="failed"}': 0,
      waybill_finished_messages_total: 1,
    })
})

test('a registry that has one of the names already is left as it is', async () => {
  const registry = new Registry()
  void new Gauge({ registers: [registry], name: 'waybill_destinations', help: 'of the embedder' })
  expect(() => watch(new StillQueue(), registry)).toThrow('waybill_destinations')
  expect(Object.keys(await scrape(registry))).toEqual(['waybill_destinations'])
})

test('every series that an alert counts begins at 0', async () => {
  const values = await scrape(watch(new StillQueue()))
  expect(warningCodes).toEqual(expect.arrayContaining(['LIST_INCOMPLETE', 'TRANSPORT_DEFECT']))
  for (const code of warningCodes)
    expect(values).toMatchObject({ [`waybill_warnings_total{code="${code}"}`]: 0 })
})

test('what happens to mail is counted once, by what it is', async () => {
  const stage = await openStage()
  const { queue } = stage
  const registry = prometheus(queue)
  expect(await scrape(registry)).toMatchObject({
    waybill_accepted_messages_total: 0,
    'waybill_outcomes_total{outcome="deferred"}': 0,
    'waybill_reports_total{action="failed"}': 0,
  })
  const outcomes: Readonly<Record<string, Outcome>> = {
    later: { kind: 'deferred', status: '4.2.1', reason: 'later' },
    never: { kind: 'failed', status: '5.1.1', reason: 'nobody' },
  }
  stage.answer = (recipient) => outcomes[recipient.split('@')[0]!] ?? { kind: 'delivered' }
  const data = 'Subject: x\r\n\r\nx\r\n'
  const submit = (...names: string[]): Promise<unknown> => {
    const recipients = names.map((name) => `${name}@example.net`)
    return queue.submit({ sender: 'ada@example.org', recipients, data })
  }
  await submit('a', 'b', 'later')
  await submit('never', 'c')
  await expect
    .poll(() => scrape(registry))
    .toMatchObject({
      waybill_accepted_messages_total: 2,
      waybill_accepted_recipients_total: 5,
      waybill_accepted_bytes_total: 2 * data.length,
      // With the report to the sender.
      'waybill_outcomes_total{outcome="delivered"}': 4,
      'waybill_outcomes_total{outcome="deferred"}': 1,
      'waybill_outcomes_total{outcome="failed"}': 1,
      waybill_requeues_total: 1,
      'waybill_reports_total{action="failed"}': 1,
      'waybill_reports_total{action="delayed"}': 0,
      waybill_finished_messages_total: 2,
      waybill_active_messages: 0,
      waybill_damaged_messages: 0,
      waybill_up: 1,
      waybill_recovering: 0,
    })
})

test('what stats counts is what a scrape says', async () => {
  const { queue } = await openStage()
  const registry = prometheus(queue)
  for (let i = 0; i < 20; i++)
    await queue.submit({ sender: '', recipients: [`r${i}@example.net`], data: 'x\r\n'.repeat(100) })
  await expect.poll(() => queue.stats().activeCount + queue.stats().journal.stagedBytes).toBe(0)
  const { journal } = queue.stats()
  expect(journal.syncCount).toBeGreaterThanOrEqual(20)
  const first = await scrape(registry)
  expect(first).toMatchObject({
    waybill_journal_syncs_total: journal.syncCount,
    waybill_journal_sync_seconds_total: journal.syncTotalMs / 1000,
    waybill_journal_written_bytes_total: journal.writtenBytes,
    waybill_journal_last_sync_seconds: journal.syncLastMs / 1000,
    waybill_journal_segments: journal.segmentCount,
    waybill_disk_short: 0,
  })
  expect(first['waybill_disk_free_bytes']).toBeGreaterThan(0)
  expect(first['waybill_recovery_seconds']).toBeGreaterThan(0)
  expect(await scrape(registry), 'twice is not twice as much').toMatchObject({
    waybill_journal_syncs_total: journal.syncCount,
    waybill_journal_written_bytes_total: journal.writtenBytes,
  })
})

test('each number of the journal is told by its own name', async () => {
  const queue = new StillQueue()
  const journal = {
    segmentCount: 11,
    spareCount: 12,
    diskFull: true,
    suffixBytes: 13,
    stagedBytes: 14,
    syncCount: 15,
    writtenBytes: 16,
    syncLastMs: 1700,
    syncTotalMs: 18_000,
    checkpointCount: 19,
    syncUnderWayMs: 2200,
  }
  const deliveries = { isHeld: true, heldMs: 2300 }
  queue.statistics = {
    ...idleStatistics,
    recovering: true,
    activeCount: 20,
    activeCountMax: 20_000,
    damagedCount: 21,
    journal,
    deliveries,
  }
  expect(await scrape(watch(queue))).toMatchObject({
    waybill_journal_segments: 11,
    waybill_journal_spare_segments: 12,
    waybill_journal_disk_full: 1,
    waybill_journal_suffix_bytes: 13,
    waybill_journal_staged_bytes: 14,
    waybill_journal_syncs_total: 15,
    waybill_journal_written_bytes_total: 16,
    waybill_journal_last_sync_seconds: 1.7,
    waybill_journal_sync_seconds_total: 18,
    waybill_checkpoints_total: 19,
    waybill_recovering: 1,
    waybill_active_messages: 20,
    waybill_damaged_messages: 21,
    waybill_journal_sync_under_way_seconds: 2.2,
    waybill_deliveries_held: 1,
    waybill_deliveries_held_seconds_total: 2.3,
  })
})

test('lanes are told by number, queue and interval, and one that is gone is not told of', async () => {
  const queue = new StillQueue()
  const lane = { waitingBytes: 300, segmentCount: 3, nextDueAt: undefined, markCount: 1, damage: undefined }
  queue.statistics = {
    ...idleStatistics,
    lanes: [
      { ...lane, lane: 1, kind: 'hold', intervalMs: Infinity, damage: 'checksum' },
      { ...lane, lane: 2, kind: 'retry', intervalMs: 300_000 },
    ],
  }
  const registry = watch(queue)
  const deferred = '{lane="2",kind="deferred",interval_seconds="300"}'
  const held = '{lane="1",kind="hold",interval_seconds="+Inf"}'
  expect(await scrape(registry)).toMatchObject({
    [`waybill_lane_waiting_bytes${deferred}`]: 300,
    [`waybill_lane_segments${deferred}`]: 3,
    [`waybill_lane_marks${deferred}`]: 1,
    [`waybill_lane_damaged${deferred}`]: 0,
    [`waybill_lane_damaged${held}`]: 1,
  })
  queue.statistics = { ...queue.statistics, lanes: queue.statistics.lanes.slice(0, 1) }
  const after = await scrape(registry)
  expect(after).toHaveProperty([`waybill_lane_segments${held}`])
  expect(Object.keys(after).filter((name) => name.includes('lane="2"'))).toEqual([])
})

test('destinations are counted by state, and none is named', async () => {
  const queue = new StillQueue()
  queue.statistics = {
    ...idleStatistics,
    destinations: [
      destinationAt('a.example', { busy: 2, todo: 5 }),
      destinationAt('b.example', {
        todo: 3,
        state: { kind: 'dead', untilMs: 1, reason: { status: '4.4.1', text: 'refused' } },
      }),
      destinationAt('c.example', { busy: 1 }),
    ],
  }
  const registry = watch(queue)
  expect(await scrape(registry)).toMatchObject({
    'waybill_destinations{state="ready"}': 2,
    'waybill_destinations{state="dead"}': 1,
    'waybill_destinations{state="suspended"}': 0,
    waybill_deliveries_under_way: 3,
    waybill_entries_waiting: 8,
  })
  expect(await registry.metrics()).not.toContain('.example')
})

test('a scrape takes one snapshot', async () => {
  const queue = new StillQueue()
  const registry = watch(queue)
  await scrape(registry)
  await scrape(registry)
  expect(queue.statsCount).toBe(2)
})

test('warnings are counted by code, and a recovery is told when it has ended', async () => {
  const queue = new StillQueue()
  const registry = watch(queue)
  expect(await scrape(registry)).not.toHaveProperty('waybill_recovery_seconds')
  queue.emit('warning', { code: 'FILE_SYSTEM', message: 'fuse' })
  queue.emit('warning', { code: 'LOG_CORRUPT', message: 'lane 2 stands still' })
  queue.emit('warning', { code: 'LOG_CORRUPT', message: 'lane 3 stands still' })
  queue.emit('recovered', { messageCount: 7, cutBytes: 4096, durationMs: 1500 })
  expect(await scrape(registry)).toMatchObject({
    'waybill_warnings_total{code="FILE_SYSTEM"}': 1,
    'waybill_warnings_total{code="LOG_CORRUPT"}': 2,
    waybill_recovery_seconds: 1.5,
    waybill_recovered_messages: 7,
    waybill_recovery_cut_bytes: 4096,
  })
})

test('a disk that does not answer holds no scrape up, and its room is absent until it does', async () => {
  const queue = new StillQueue()
  let answer: (room: Room) => void = () => {}
  queue.answer = () => new Promise((resolve) => (answer = resolve))
  const registry = watch(queue)
  for (let i = 0; i < 3; i++) expect(await scrape(registry)).not.toHaveProperty('waybill_disk_free_bytes')
  answer({ freeBytes: 7, freeFiles: Infinity, isShort: true, shortOf: 'bytes' })
  await Promise.resolve()
  expect(await scrape(registry)).toMatchObject({
    waybill_disk_free_bytes: 7,
    waybill_disk_free_files: Infinity,
    waybill_disk_short: 1,
  })
  expect(await scrape(registry)).not.toHaveProperty('waybill_disk_free_bytes')
})

test('after a crash the queue is down, its counters stay, and the next life takes its place in the same registry', async () => {
  const stage = await openStage()
  const registry = new Registry()
  const own = new Gauge({ name: 'own', help: 'the embedder’s', registers: [registry] })
  own.set(1)
  prometheus(stage.queue, registry)
  await stage.queue.submit({ sender: '', recipients: ['a@example.net'], data: 'x' })
  expect(() => prometheus(stage.queue, registry)).toThrow(
    expect.objectContaining({ code: 'OPTION_INVALID' }) as Error,
  )
  stage.queue.crash()
  const down = await scrape(registry)
  expect(down).toMatchObject({ waybill_up: 0, waybill_accepted_messages_total: 1, own: 1 })
  expect(down).not.toHaveProperty('waybill_disk_free_bytes')
  prometheus(await stage.reopen(), registry)
  expect(await scrape(registry)).toMatchObject({ waybill_up: 1, waybill_accepted_messages_total: 0, own: 1 })
})

test('two queues share a registry, and differ by the label queue', async () => {
  const [first, second, third] = [await openStage(), await openStage(), await openStage()]
  const registry = prometheus(first.queue)
  prometheus(second.queue, registry, { name: 'lists' })
  prometheus(third.queue, registry)
  for (const { queue } of [second, second, third])
    await queue.submit({ sender: '', recipients: ['a@example.net'], data: 'x' })
  const total = 'waybill_accepted_messages_total'
  expect(await scrape(registry)).toMatchObject({
    waybill_up: 1,
    'waybill_up{queue="lists"}': 1,
    [total]: 0,
    [`${total}{queue="lists"}`]: 2,
    [`${total}{queue="2"}`]: 1,
  })
  expect(() => prometheus(third.queue, registry, { name: 'other' })).toThrow('lives in this registry')
  second.queue.crash()
  prometheus(await second.reopen(), registry, { name: 'lists' })
  expect(await scrape(registry)).toMatchObject({ [`${total}{queue="lists"}`]: 0, [`${total}{queue="2"}`]: 1 })
})

test('names and units are those of Prometheus', async () => {
  const text = await watch(new StillQueue()).metrics()
  const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => ({ name, type }))
  const names = [...measured, ...asked, ...followed, ...countedByEvents, ...notedByEvents].map(
    ({ name }) => name,
  )
  expect(new Set(types.map(({ name }) => name))).toEqual(new Set([...names, 'waybill_up']))
  for (const { name, type } of types) {
    expect(name).toMatch(/^waybill_[a-z_]+$/)
    expect(name!.endsWith('_total'), `${name} is a ${type}`).toBe(type === 'counter')
    expect(name).not.toMatch(/_(?:ms|milliseconds|count|kib)(?:_|$)/)
  }
})

test('of a queue that has crashed no series is left when the next one comes', async () => {
  const registry = new Registry()
  const named = (name: string): StillQueue => {
    const queue = new StillQueue()
    prometheus(queue as unknown as WatchedQueue, registry, { name })
    queue.emit('recovered', { messageCount: 1, cutBytes: 0, durationMs: 5 })
    return queue
  }
  named('stays')
  for (const name of ['one', 'two', 'three']) named(name).isCrashed = true
  named('last')
  const series = Object.keys(await scrape(registry))
  const queues = series.map((one) => /queue="(\w+)"/.exec(one)?.[1])
  expect(new Set(queues)).toEqual(new Set(['last', 'stays']))
})

test('the series of a queue that was lent go with it', async () => {
  const registry = watch(new StillQueue())
  const lent = new StillQueue()
  prometheus(lent as unknown as WatchedQueue, registry, { name: 'lent', endsWithQueue: true })
  lent.emit('recovered', { messageCount: 1, cutBytes: 0, durationMs: 5 })
  expect(await scrape(registry)).toMatchObject({ waybill_up: 1, 'waybill_up{queue="lent"}': 1 })
  // A queue whose end nobody hears of ends the process.
  expect(lent.listenerCount('crashed')).toBe(0)
  lent.isCrashed = true
  const series = Object.keys(await scrape(registry))
  expect(series).toContain('waybill_up')
  expect(series.filter((one) => one.includes('lent'))).toEqual([])
})
