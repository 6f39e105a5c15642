/** A client that floods, and one that does not, while the active queue is full. */
import { expect, test } from 'vitest'
import { clientsMax, InFlowDelay } from '../../src/relay/in-flow-delay.js'
import { heldClock } from '../held-clock.js'

const delayMs = 1000

function flowOf(full: { isFull: boolean }): { flow: InFlowDelay; clock: ReturnType<typeof heldClock> } {
  const clock = heldClock()
  const stats = () => ({ activeCount: full.isFull ? 100 : 99, activeCountMax: 100 })
  return { flow: new InFlowDelay({ delayMs: () => delayMs, stats, clock }), clock }
}

/** Answers that a client has had so far. */
function flood(flow: InFlowDelay, address: string, sessionCount: number): { count: number } {
  const answers = { count: 0 }
  for (let i = 0; i < sessionCount; i++) {
    const next = (): void => {
      answers.count++
      if (answers.count < 10_000) void flow.turn(address).then(next)
    }
    void flow.turn(address).then(next)
  }
  return answers
}

async function advance(clock: ReturnType<typeof heldClock>, seconds: number): Promise<void> {
  for (let i = 0; i < seconds; i++) {
    for (let turn = 0; turn < 50; turn++) await Promise.resolve()
    clock.advance(1000)
  }
  for (let turn = 0; turn < 50; turn++) await Promise.resolve()
}

test('while the active queue is full, a flood has one answer a second, and a polite client never waits', async () => {
  const { flow, clock } = flowOf({ isFull: true })
  const answers = flood(flow, '192.0.2.1', 1)
  let politeCount = 0
  for (let second = 0; second < 20; second++) {
    await flow.turn('192.0.2.7')
    politeCount++
    await advance(clock, 1)
    await advance(clock, 1)
  }
  expect(politeCount).toBe(20)
  expect(answers.count).toBeGreaterThanOrEqual(38)
  expect(answers.count).toBeLessThanOrEqual(42)
})

test('sessions of one client, and addresses of one network of IPv6, share its turns', async () => {
  const { flow, clock } = flowOf({ isFull: true })
  const first = flood(flow, '2001:db8:1:2::1', 2)
  const second = flood(flow, '2001:db8:1:2::9', 2)
  await advance(clock, 20)
  expect(first.count + second.count).toBeLessThanOrEqual(22)
})

test('with room among the active nobody waits, and a full moment is forgotten', async () => {
  const full = { isFull: true }
  const { flow, clock } = flowOf(full)
  await flow.turn('192.0.2.1')
  let isAnswered = false
  void flow.turn('192.0.2.1').then(() => (isAnswered = true))
  await Promise.resolve()
  expect(isAnswered).toBe(false)
  await advance(clock, 1)
  expect(isAnswered).toBe(true)
  full.isFull = false
  await flow.turn('192.0.2.1')
  for (let i = 0; i < 100; i++) await flow.turn('192.0.2.1')
  full.isFull = true
  await advance(clock, 1)
  await flow.turn('192.0.2.1')
})

test('of more clients than are remembered the oldest is forgotten', async () => {
  const { flow, clock } = flowOf({ isFull: true })
  for (let i = 0; i <= clientsMax; i++) await flow.turn(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`)
  await flow.turn('10.0.0.0')
  expect(clock.timerCount).toBe(0)
  void flow.turn('10.0.0.2')
  expect(clock.timerCount).toBe(1)
})
