/** The model takes for broken only what is. */
import { expect, test } from 'vitest'
import { anyLife } from '../../../src/sim/model/model-life.js'
import { QueueModel } from '../../../src/sim/model/queue-model.js'

const sender = 'm0@sender.test'
const address = 'defer1@a.test'
const attempt = {
  id: 'M0',
  sender,
  recipients: [address],
  nexthop: 'a.test',
  attempts: 0,
  wallMs: 0,
  nowMs: 0,
  syncedWriteMs: 0,
  isProven: true,
}

test('a deferral without an attempt, behind a requeue, counts no attempts of before', () => {
  const model = new QueueModel()
  model.beginLife(anyLife)
  model.asked(sender, [address], Buffer.alloc(0), 0)
  model.settled(sender, 'M0')
  model.attempted({ ...attempt, attempts: 1 })
  expect(model.attemptsOf('M0')).toBe(1)
  const told = model.orders.given(sender, 'requeue', 0)
  told({ messageCount: 1, isWhole: true, isAborted: false })
  expect(model.attemptsOf('M0')).toBe(undefined)
})

test('a message that was settled and had not ended must be listed', () => {
  const model = new QueueModel()
  model.beginLife(anyLife)
  model.asked(sender, [address], Buffer.alloc(0), 0)
  model.settled(sender, 'M0')
  model.observed([])
  expect(model.violations).toEqual([
    { oracle: 'O1', message: sender, text: `${sender} was settled and is not listed` },
  ])
})

test.each([
  ['not durably', false, []],
  ['durably', true, [`${address} of ${sender} was delivered durably and is attempted again`]],
])(
  'a delivery that an earlier life recorded %s, and that is put off without an attempt and made again, breaks a promise only if it was durable',
  (_, isDurable, texts) => {
    const model = new QueueModel()
    const one = { id: 'M0', sender, recipients: [address] }
    const facts = { appendedBytes: 10, nowMs: 0, notBeforeMs: 0, attempts: 0 }
    model.beginLife(anyLife)
    model.asked(sender, [address], Buffer.alloc(0), 0)
    model.settled(sender, 'M0')
    model.attempted({ ...attempt, attempts: 0 })
    model.recorded('delivered', one, facts)
    if (isDurable) model.durable(10)
    model.beginLife(anyLife)
    model.recorded('deferred', one, facts)
    model.attempted({ ...attempt, attempts: 0 })
    expect(model.violations.map(({ text }) => text)).toEqual(texts)
  },
)

test.each([
  ['behind an attempt', true, [`${sender} forgot an attempt: 0 were made, 1 are durable`]],
  ['without an attempt', false, []],
])(
  'a deferral %s that a life without room tells breaks a promise only if room was kept for its record',
  (_, isAttempted, texts) => {
    const model = new QueueModel()
    const one = { id: 'M0', sender, recipients: [address] }
    model.beginLife({ ...anyLife, isShortOfRoom: true })
    model.asked(sender, [address], Buffer.alloc(0), 0)
    model.settled(sender, 'M0')
    if (isAttempted) model.attempted(attempt)
    model.recorded('deferred', one, { appendedBytes: 10, nowMs: 0, notBeforeMs: 0, attempts: 1 })
    model.durable(10)
    model.beginLife(anyLife)
    model.attempted(attempt)
    expect(model.violations.map(({ text }) => text)).toEqual(texts)
  },
)

test('an attempt while a synced write hangs, or in a queue of another life, breaks a promise', () => {
  const model = new QueueModel()
  model.beginLife({ ...anyLife, proofMs: 2000 })
  model.asked(sender, [address], Buffer.alloc(0), 0)
  model.settled(sender, 'M0')
  model.attempted({ ...attempt, syncedWriteMs: 2000 })
  model.recorded('deferred', attempt, { appendedBytes: 1, nowMs: 0, notBeforeMs: 0, attempts: 1 })
  expect(model.violations).toEqual([])
  model.attempted({ ...attempt, attempts: 1, syncedWriteMs: 2001, isProven: false })
  expect(model.violations.map(({ oracle, text }) => `${oracle} ${text}`)).toEqual([
    `O3 ${sender} is attempted while a synced write has hung for 2001 ms`,
    `O3 ${sender} is attempted while it is not proven who owns the queue`,
  ])
})

const idleWaitOf = (afterMs: number, change: (model: QueueModel) => void = () => undefined): string[] => {
  const model = new QueueModel()
  const retryMsMax = (): number => 1000
  model.beginLife({ ...anyLife, patience: { retryMsMax, checkpointMs: 0, activeCountMax: 9 } })
  model.asked(sender, [address], Buffer.alloc(0), 0)
  model.settled(sender, 'M0')
  model.attempted(attempt)
  const facts = { appendedBytes: 10, nowMs: 0, notBeforeMs: 0, attempts: 1 }
  model.recorded('deferred', { id: 'M0', sender, recipients: [address] }, facts)
  change(model)
  for (let ms = 0; ms < afterMs; ms += 100) model.idled(100, 1_000_000)
  return model.violations.map(({ text }) => text)
}

const other = { ...attempt, id: 'M1', sender: 'm1@sender.test', recipients: ['ok@a.test'] }

const attemptOther = (model: QueueModel, nexthop: string): void => {
  model.asked(other.sender, other.recipients, Buffer.alloc(0), 0)
  model.settled(other.sender, other.id)
  model.attempted({ ...other, nexthop })
}

test.each([
  ['for its interval', 1000, []],
  ['no longer than that', 1300, [`${sender} waits for 1100 ms while the queue is idle, not 1000`]],
])('a deferred message may wait in an idle queue %s', (_, afterMs, texts) => {
  expect(idleWaitOf(afterMs)).toEqual(texts)
})

test.each([
  ['no attempt is under way at its site', 'b.test', 1],
  ['one is', 'a.test', 0],
])('a wait counts while %s', (_, nexthop, lateCount) => {
  expect(idleWaitOf(1300, (model) => attemptOther(model, nexthop))).toHaveLength(lateCount)
})

test('mail on hold is not late', () => {
  expect(idleWaitOf(1300, (model) => model.orders.given(sender, 'hold', 0))).toEqual([])
})

test('in a later life a message lets all go first that recoveries may have found attempted', () => {
  const lateAfter = (ms: number): number => {
    const model = new QueueModel()
    const life = { ...anyLife, patience: { retryMsMax: () => 0, checkpointMs: 0, activeCountMax: 9 } }
    model.beginLife(life)
    model.asked(sender, [address], Buffer.alloc(0), 0)
    model.settled(sender, 'M0')
    model.asked('unanswered@sender.test', [address], Buffer.alloc(0), 0)
    model.beginLife(life)
    model.idled(ms, 1_000_000)
    return model.violations.length
  }
  // Two messages and one more, two seconds each.
  expect([lateAfter(6000), lateAfter(6001)]).toEqual([0, 1])
})
