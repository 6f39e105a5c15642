/** Deliveries that an operator suspends: mail waits, nothing is attempted, and no crash forgets
 * it. */
import { expect, test } from 'vitest'
import { suspend, unsuspend } from '../../../src/admin/verbs/suspend.js'
import { systemClock } from '../../../src/base/clock.js'
import { isOrdered } from '../../../src/engine/deliver/destinations-now.js'
import { Suspensions } from '../../../src/engine/life/suspensions.js'
import type { OpenedEngine } from '../../../src/engine/open.js'
import { WaybillError } from '../../../src/errors.js'
import type { Queue } from '../../../src/queue.js'
import type { Transport } from '../../../src/delivery/transport.js'
import { fixedRetry } from '../../../src/policy/fixed-retry.js'
import type { DiskImage } from '../../../src/sim/disk/disk-image.js'
import type { SimDisk } from '../../../src/sim/disk/sim-disk.js'
import { SimWorld } from '../../../src/sim/world/world.js'
import { simulatedLife } from '../simulated-life.js'
import { codeOf, delivered, gate, pause, patient, simulated, submission, type Stage } from '../stage.js'

const deferredIds = async ({ queue }: Stage): Promise<string[]> => {
  const ids: string[] = []
  for await (const { id } of queue.list({ lane: 'deferred' })) ids.push(id)
  return ids
}

test('mail for a suspended nexthop waits without an attempt, and other mail goes', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open()
    await queue.suspend({ nexthop: 'A.example' })
    await queue.submit(submission(['one@a.example', 'two@b.example']))
    await pause(stage, 5000)
    expect(stage.attempts).toMatchObject([{ recipient: 'two@b.example', kind: 'delivered' }])
    for await (const { notes } of queue.list())
      expect(notes).toMatchObject([{ kind: 'deferred', status: '4.3.2' }])
    expect(await queue.unsuspend({ nexthop: 'a.example' })).toBe(true)
    expect(await queue.unsuspend({ nexthop: 'a.example' })).toBe(false)
    await stage.until('it is delivered', () => stage.told('delivered').includes('one@a.example'))
  })
})

test('what waits for a place is put off, and what is under way goes on', async () => {
  await simulated(async (stage) => {
    const { opened, open } = gate()
    const begun: string[] = []
    const out: Transport = {
      deliver: async ({ recipients: [to] }) => {
        begun.push(to!)
        await opened
        return delivered
      },
    }
    const queue = await stage.open({
      ...patient,
      transports: { out },
      scheduler: { initialDestinationConcurrency: 1, defaultDestinationConcurrencyLimit: 1 },
    })
    for (const n of [1, 2, 3]) await queue.submit(submission(`n${n}@a.example`))
    await stage.until('one is under way', () => begun.length === 1)
    await queue.suspend({ transport: 'out', nexthop: 'a.example' })
    await pause(stage, 100)
    expect(await deferredIds(stage)).toHaveLength(2)
    expect(queue.destinations()).toMatchObject([{ busy: 1, todo: 0, state: { kind: 'suspended' } }])
    open()
    await queue.idle()
    expect(begun).toEqual(['n1@a.example'])
  })
})

test.each([
  ['a transport', { transport: 'out' }, 'out', '*'],
  ['a nexthop', { nexthop: 'a.example' }, '*', 'a.example'],
  ['a nexthop of a transport', { transport: 'out', nexthop: 'a.example' }, 'out', 'a.example'],
])('%s that is suspended is listed though it is not in use', async (_, target, transport, name) => {
  await simulated(async (stage) => {
    const told: unknown[] = []
    const queue = await stage.open(patient)
    queue.on('suspended', (event) => told.push(event))
    await queue.suspend(target, { forMs: 60_000 })
    await queue.submit(submission('one@a.example'))
    await queue.idle()
    expect(stage.attempts).toEqual([])
    const untilMs = stage.clock.wallMs() + 60_000
    expect(queue.destinations()).toMatchObject([
      { transport, name, state: { kind: 'suspended', order: target } },
    ])
    const untilAt = queue.suspensions()[0]!.untilAt
    expect(Math.abs(untilAt - untilMs)).toBeLessThan(60_000)
    expect(told).toEqual([{ transport: '', nexthop: '', ...target, untilAt }])
  })
})

test('a suspension ends at its time, and a life that begins later knows nothing of it', async () => {
  await simulated(async (stage) => {
    const told: unknown[] = []
    const queue = await stage.open({ retry: fixedRetry([60_000], 1e8) })
    queue.on('resumed', (event) => told.push(event))
    await queue.suspend({ nexthop: 'a.example' }, { forMs: 3_600_000 })
    await queue.submit(submission('one@a.example'))
    await pause(stage, 3_500_000)
    expect(stage.attempts).toEqual([])
    await stage.until('it is delivered', () => stage.told('delivered').length === 1, 200_000)
    expect(told).toEqual([{ transport: '', nexthop: 'a.example', cause: 'time' }])
    await pause(stage, 5000)
    const next = await stage.open()
    expect(next.suspensions()).toEqual([])
  })
})

test('a site that is slowed and suspended has one line, and counts once', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open(patient)
    queue.slow({ nexthop: 'a.example', count: 10, perMs: 60_000 })
    await queue.suspend({ nexthop: 'a.example' })
    const destinations = queue.destinations()
    expect(destinations).toMatchObject([
      { transport: '*', name: 'a.example', state: { kind: 'suspended' }, limit: { count: 10 } },
    ])
    expect(destinations.filter(isOrdered)).toHaveLength(1)
  })
})

test('mail for a suspended destination expires as always', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open({ retry: fixedRetry([1000], 10_000) })
    const expired: string[] = []
    queue.on('expired', ({ id }) => expired.push(id))
    await queue.suspend({ nexthop: 'a.example' })
    const { id } = await queue.submit(submission('one@a.example'))
    await stage.until('it has expired', () => expired.length === 1)
    expect(expired).toEqual([id])
    await stage.until('the sender is told', () => stage.told('delivered').length === 1)
    expect([...stage.data.values()][0]).toMatch(/an\s+operator has suspended deliveries/)
  })
})

/** @param before called before each call of the disk */
async function life(
  image: DiskImage | undefined,
  before: (disk: SimDisk) => void,
  body: (queue: Queue, pauseMs: (ms: number) => Promise<void>) => Promise<void>,
): Promise<void> {
  const world = new SimWorld({ seed: 5, overtakeMsMax: 1000 })
  const out: Transport = { deliver: () => delivered }
  const options = { retry: fixedRetry([60]), transports: { out } }
  const pauseMs = (ms: number): Promise<void> => new Promise((resolve) => world.clock.after(ms, resolve))
  await simulatedLife({ world, seed: 5, image, before, options }, (queue) => body(queue, pauseMs))
}

test('what is settled holds in the life after a power loss, before whichever call of the disk', async () => {
  const cuts: { readonly image: DiskImage; readonly isSuspended: boolean | undefined }[] = []
  let isSuspended: boolean | undefined = false
  const note = (disk: SimDisk): void => {
    for (const { image } of disk.crashStates({ statesMax: 1 })) cuts.push({ image, isSuspended })
  }
  await life(undefined, note, async (queue, pauseMs) => {
    for (const options of [{}, { forMs: 3_600_000 }]) {
      isSuspended = undefined
      await queue.suspend({ nexthop: 'a.example' }, options)
      isSuspended = true
      await queue.submit(submission())
      await pauseMs(200)
      isSuspended = undefined
      await queue.unsuspend({ nexthop: 'a.example' })
      isSuspended = false
      await queue.submit(submission())
      await pauseMs(200)
    }
  })
  const sure = cuts.filter((cut) => cut.isSuspended !== undefined)
  expect(sure.some((cut) => cut.isSuspended)).toBe(true)
  expect(sure.length).toBeGreaterThan(20)
  for (const cut of sure.filter((_, i) => i % 3 === 0))
    await life(
      cut.image,
      () => undefined,
      async (queue) => {
        expect(queue.suspensions()).toHaveLength(cut.isSuspended === true ? 1 : 0)
      },
    )
})

test('a suspension that cannot be durable is refused, and is undone', async () => {
  const told: unknown[] = []
  const suspensions = new Suspensions(
    { clock: systemClock, segmentBytes: 65_536, onEnd: () => undefined },
    [],
  )
  const full = new WaybillError('DISK_FULL', 'no room for a checkpoint')
  let answer = Promise.reject<void>(full)
  const opened = {
    parts: {
      options: { deliver: false, clock: systemClock },
      life: { check: () => undefined, orEnd: (work: Promise<void>) => work, isOver: false },
      events: { emit: (...event: unknown[]) => told.push(event) },
      suspensions,
    },
    engine: {
      whenRecovered: () => Promise.resolve(),
      checkpoint: () => answer,
      checkpointer: { wantAgain: () => told.push('again') },
      dispatch: { suspensionsChanged: () => undefined },
    },
  } as unknown as OpenedEngine
  expect(await codeOf(suspend(opened, { nexthop: 'a.example' }, {}))).toBe('DISK_FULL')
  expect([...suspensions.all()]).toEqual([])
  answer = Promise.resolve()
  await suspend(opened, { nexthop: 'a.example' }, {})
  answer = Promise.reject(full)
  expect(await codeOf(unsuspend(opened, { nexthop: 'a.example' }))).toBe('DISK_FULL')
  expect(await codeOf(suspend(opened, { nexthop: 'a.example' }, { forMs: 5 }))).toBe('DISK_FULL')
  expect([...suspensions.all()]).toMatchObject([{ untilAt: Infinity }])
  expect(told).toEqual(['again', ['suspended', expect.anything()], 'again', 'again'])
})

test.each<[string, object, object, string]>([
  ['nothing', {}, {}, 'nexthop'],
  ['an empty nexthop', { nexthop: '' }, {}, 'nexthop'],
  ['a name too long', { nexthop: 'x'.repeat(256) }, {}, 'nexthop'],
  ['a transport that there is not', { transport: 'uot' }, {}, 'transport'],
  ['something else', { domain: 'a.example' }, {}, 'domain'],
  ['a time that is none', { nexthop: 'a.example' }, { forMs: 0 }, 'forMs'],
  ['an option that there is not', { nexthop: 'a.example' }, { for: 5 }, 'for'],
])('%s is not suspended', async (_, target, options, option) => {
  await simulated(async (stage) => {
    const queue = await stage.open(patient)
    const refused = queue.suspend(target, options).catch((error: unknown) => error)
    expect(await refused).toMatchObject({ code: 'OPTION_INVALID', place: { option } })
    expect(queue.suspensions()).toEqual([])
  })
})

test('suspensions have a bound, and what a checkpoint has room for is kept', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open(patient)
    let count = 0
    const name = (n: number): string => `${String(n).padStart(3, '0')}.${'x'.repeat(250)}`
    while ((await codeOf(queue.suspend({ nexthop: name(count) }))) === 'accepted') count++
    expect(count).toBe(Math.floor((16 * 4096) / 8 / (24 + 254)))
    expect(await codeOf(queue.suspend({ nexthop: name(0) }, { forMs: 1000 }))).toBe('accepted')
    const next = await stage.open(patient)
    expect(next.suspensions()).toHaveLength(count)
    expect(await codeOf(next.suspend({ transport: 'out' }))).toBe('accepted')
  })
})

test('a suspension that is over by a wall clock that was set ahead ends within a minute', async () => {
  const world = new SimWorld({ seed: 1 })
  let aheadMs = 0
  const { clock: own } = world
  const clock = {
    wallMs: () => own.wallMs() + aheadMs,
    monotonicMs: () => own.monotonicMs(),
    after: (delayMs: number, callback: () => void) => own.after(delayMs, callback),
    soon: (callback: () => void) => own.soon(callback),
  }
  const ended: unknown[] = []
  const onEnd = ({ nexthop }: { readonly nexthop?: string | undefined }): unknown => ended.push(nexthop)
  const suspensions = new Suspensions({ clock, segmentBytes: 65_536, onEnd }, [])
  const nowMs = clock.wallMs()
  suspensions.put({ nexthop: 'a.example', sinceAt: nowMs, untilAt: nowMs + 3_600_000 })
  suspensions.put({ nexthop: 'b.example', sinceAt: nowMs, untilAt: nowMs + 10_800_000 })
  aheadMs = 7_200_000
  await world.settle(new Promise<void>((resolve) => own.after(60_000, resolve)))
  expect(ended).toEqual(['a.example'])
  expect([...suspensions.all()].map(({ nexthop }) => nexthop)).toEqual(['b.example'])
  suspensions.stop()
})
