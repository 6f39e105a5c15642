/** Attempts begin only while their outcomes can soon be durable, and while it is proven who
 * owns the queue. */
import { expect, test } from 'vitest'
import type { Transport } from '../../../src/delivery/transport.js'
import { WaybillError } from '../../../src/errors.js'
import { codeOf, delivered, pause, simulated, submission, type Stage } from '../stage.js'

const answerMs = 400
const hangMs = 30_000

/** One delivery follows the other. @returns when each began */
async function openInTurn(stage: Stage, count: number): Promise<readonly number[]> {
  const begun: number[] = []
  const out: Transport = {
    deliver: async () => {
      begun.push(stage.clock.monotonicMs())
      await pause(stage, answerMs)
      return delivered
    },
  }
  const queue = await stage.open({
    transports: { out },
    scheduler: { defaultDestinationConcurrencyLimit: 1 },
  })
  for (let i = 0; i < count; i++) await queue.submit(submission())
  return begun
}

test('no attempt begins while a synced write hangs for longer than proofMs; all are made when it has returned', async () => {
  await simulated(async (stage) => {
    const begun = await openInTurn(stage, 20)
    const hungAtMs = stage.clock.monotonicMs()
    const countBefore = begun.length
    stage.disk!.hang(hangMs)
    await stage.until('deliveries are held', () => stage.queue.stats().deliveries.isHeld)
    const { journal } = stage.queue.stats()
    expect(journal.syncUnderWayMs).toBeGreaterThan(2000)
    expect(stage.queue.destinations()).toMatchObject([{ state: { kind: 'ready' } }])
    await stage.until('all are attempted', () => begun.length === 20, 60_000)
    await stage.queue.idle()

    // The first outcome behind the moment at which the disk hangs is the one that hangs.
    const shutAtMs = hungAtMs + answerMs + 2000
    expect(begun.slice(countBefore).some((atMs) => atMs <= shutAtMs)).toBe(true)
    expect(begun.filter((atMs) => atMs > shutAtMs && atMs < hungAtMs + hangMs)).toEqual([])
    expect(stage.warnings).toEqual(['DELIVERIES_HELD', 'DELIVERIES_RESUMED'])
    const { isHeld, heldMs } = stage.queue.stats().deliveries
    expect(isHeld).toBe(false)
    expect(heldMs).toBeGreaterThan(hangMs - 2 * answerMs - 2000)
    expect(heldMs).toBeLessThanOrEqual(hangMs)
  })
})

test('no attempt begins while it is not proven that the life owns the queue', async () => {
  await simulated(async (stage) => {
    const begun = await openInTurn(stage, 10)
    const { lease } = stage.disk!
    lease.prove(false)
    const countThen = begun.length
    await pause(stage, 20_000)
    expect(begun.length).toBe(countThen)
    lease.prove(true)
    await stage.until('all are attempted', () => begun.length === 10)
    await stage.queue.idle()
    expect(stage.warnings).toEqual(['DELIVERIES_HELD', 'DELIVERIES_RESUMED'])
  })
})

test('proof that was lost while a synced write hung, and comes behind it, is heard of', async () => {
  await simulated(async (stage) => {
    const begun = await openInTurn(stage, 10)
    stage.disk!.hang(hangMs)
    await stage.until('deliveries are held', () => stage.queue.stats().deliveries.isHeld)
    const { lease } = stage.disk!
    lease.prove(false)
    await pause(stage, 2 * hangMs)
    const countThen = begun.length
    expect(stage.queue.stats().deliveries.isHeld).toBe(true)
    lease.prove(true)
    await stage.until('all are attempted', () => begun.length === 10)
    await stage.queue.idle()
    expect(countThen).toBeLessThan(10)
    expect(stage.warnings).toEqual(['DELIVERIES_HELD', 'DELIVERIES_RESUMED'])
  })
})

test('a life whose queue another one owns ends with the error of the disk', async () => {
  await simulated(async (stage) => {
    await openInTurn(stage, 3)
    const error = new WaybillError('QUEUE_LOCKED', 'another node owns this queue')
    stage.disk!.lease.lose(error)
    expect(stage.crashes).toEqual([error])
    expect(await codeOf(stage.queue.submit(submission()))).toBe('QUEUE_CRASHED')
  })
})

test('a bound of its own is kept, and an invalid one is refused', async () => {
  await simulated(async (stage) => {
    await stage.open({ proofMs: 50 })
    await stage.queue.submit(submission())
    await stage.queue.idle()
    stage.disk!.hang(1000)
    const submitted = stage.queue.submit(submission())
    await pause(stage, 100)
    // What is due meanwhile asks whether it may be attempted.
    await codeOf(stage.queue.flush({ all: true }, { signal: AbortSignal.abort() }))
    await submitted
    await stage.queue.idle()
    await expect(stage.open({ proofMs: 0 })).rejects.toMatchObject({ code: 'OPTION_INVALID' })
  })
})
