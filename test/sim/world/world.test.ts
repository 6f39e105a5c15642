import { expect, test } from 'vitest'
import { SimWorld } from '../../../src/sim/world/world.js'

test('every promise callback has run before the next event', async () => {
  const world = new SimWorld({ seed: 0, order: 'fifo' })
  const trace: string[] = []
  const depth = async (levels: number): Promise<void> => {
    for (let level = 0; level < levels; level++) await Promise.resolve()
    trace.push('callbacks')
  }
  world.enqueue(() => {
    trace.push('first event')
    void depth(1_000)
  })
  world.enqueue(() => trace.push('second event'))
  await world.run()
  expect(trace).toEqual(['first event', 'callbacks', 'second event'])
})

test('time stands still while anything is ready, when events are taken in order', async () => {
  const world = new SimWorld({ seed: 0, order: 'fifo' })
  const trace: string[] = []
  world.clock.after(0, () => trace.push(`timer at ${world.nowMs}`))
  world.clock.after(5, () => trace.push(`timer at ${world.nowMs}`))
  world.clock.soon(() => {
    trace.push('soon')
    world.clock.soon(() => trace.push('sooner'))
  })
  await world.run()
  expect(trace).toEqual(['soon', 'sooner', 'timer at 0', 'timer at 5'])
})

test('what makes durable comes last, where syncs are slow', async () => {
  const world = new SimWorld({ seed: 0, order: 'slow syncs' })
  const trace: string[] = []
  const read = (left: number): void => {
    trace.push('read')
    if (left > 0) world.enqueue(() => read(left - 1))
  }
  world.enqueue(() => trace.push('durable'), true)
  world.enqueue(() => read(20))
  await world.run()
  expect(trace).toHaveLength(22)
  expect(trace.at(-1)).toBe('durable')
})

test('timers run in the order of their instants, and a cancelled one does not', async () => {
  for (const seed of [1, 2, 3, 4]) {
    const world = new SimWorld({ seed })
    const trace: number[] = []
    const timers = [30, 10, 20, 40].map((dueMs) => world.clock.after(dueMs, () => trace.push(dueMs)))
    timers[2]?.cancel()
    await world.run({ untilMs: 35 })
    expect(trace).toEqual([10, 30])
    expect(world.clock.monotonicMs()).toBe(35)
    await world.run()
    expect(trace).toEqual([10, 30, 40])
  }
})

test('seeds give different orders, one seed always the same', async () => {
  const orderOf = async (seed: number): Promise<string> => {
    const world = new SimWorld({ seed })
    let trace = ''
    for (const letter of 'abcdef') world.clock.soon(() => (trace += letter))
    world.clock.after(1, () => (trace += 't'))
    await world.run()
    return trace
  }
  const seeds = Array.from({ length: 30 }, (_, seed) => seed)
  const once = await Promise.all(seeds.map(orderOf))
  expect(await Promise.all(seeds.map(orderOf))).toEqual(once)
  expect(new Set(once).size).toBeGreaterThan(20)
  expect(once.some((trace) => !trace.endsWith('t'))).toBe(true)
})

test('stepping the wall clock moves no timer and no monotonic time', async () => {
  const world = new SimWorld({ seed: 0, wallStartMs: 1_000 })
  const dueWallMs: number[] = []
  world.clock.after(10, () => dueWallMs.push(world.clock.wallMs()))
  world.clock.stepWall(-600)
  expect(world.clock.wallMs()).toBe(400)
  await world.run()
  expect(dueWallMs).toEqual([410])
  expect(world.clock.monotonicMs()).toBe(10)
})

test('a run that waits for itself ends with an error, and so does waiting for what cannot happen', async () => {
  const world = new SimWorld({ seed: 0 })
  const again = (): void => world.clock.soon(again)
  again()
  await expect(world.run({ eventsMax: 100 })).rejects.toThrow('a run ends within 100 events')
  const idle = new SimWorld({ seed: 0 })
  await expect(idle.settle(new Promise(() => undefined))).rejects.toThrow('nothing is left to happen')
})

test('nothing happens in a stopped world', async () => {
  const world = new SimWorld({ seed: 0, order: 'fifo' })
  const trace: string[] = []
  world.clock.soon(() => {
    trace.push('last')
    world.stop()
  })
  world.clock.soon(() => trace.push('never'))
  await world.run()
  await world.run()
  expect(trace).toEqual(['last'])
  await expect(world.settle(new Promise(() => undefined))).rejects.toThrow('the world was stopped')
})

test('a thousand events taken in order stay in order', async () => {
  const world = new SimWorld({ seed: 0, order: 'fifo' })
  const trace: number[] = []
  let next = 0
  const refill = (): void => {
    const number = next++
    world.enqueue(() => {
      trace.push(number)
      if (next < 5_000) refill()
      if (next < 5_000) refill()
    })
  }
  refill()
  await world.run()
  expect(trace).toEqual(Array.from({ length: next }, (_, index) => index))
})
