/** Which connection is kept, given away or left, by a clock that stands still. */
import { setImmediate as immediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ConnectionPool, type PoolLimits } from '../../../src/relay/smtp-out/connection-pool.js'
import { SmtpClient } from '../../../src/relay/smtp-out/smtp-client.js'
import { phaseTimesOf } from '../../../src/relay/smtp-out/smtp-out-options.js'
import { heldClock, type HeldClock } from '../../held-clock.js'

/** To nobody: what its server does a test says. */
class Connection extends SmtpClient {
  wasLeft = false
  saidTooMuch = false
  saysGoodbye = true

  constructor() {
    super({}, phaseTimesOf({}))
  }

  override get isOutOfStep(): boolean {
    return this.saidTooMuch
  }

  override quit(): void {
    this.wasLeft = true
    if (this.saysGoodbye) this.close()
  }
}

function poolOf(limits: Partial<PoolLimits> = {}): { pool: ConnectionPool; clock: HeldClock } {
  const clock = heldClock()
  const pool = new ConnectionPool({ idleMs: 2000, messagesMax: 1000, connectionsMax: 10, ...limits }, clock)
  return { pool, clock }
}

/** Busy. */
async function opened(pool: ConnectionPool): Promise<Connection> {
  expect(await pool.place('any')).toBeUndefined()
  const client = new Connection()
  pool.add(client)
  return client
}

async function kept(pool: ConnectionPool, nexthop: string): Promise<Connection> {
  const client = await opened(pool)
  pool.keep(nexthop, client)
  return client
}

const isGranted = (place: Promise<unknown>): Promise<boolean> =>
  Promise.race([place.then(() => true), immediate(false)])

test('each connection that nobody wants is left when its time is over', async () => {
  const { pool, clock } = poolOf()
  const first = await kept(pool, 'a')
  clock.advance(1500)
  const second = await kept(pool, 'b')
  clock.advance(499)
  expect(first.wasLeft).toBe(false)
  clock.advance(1)
  expect([first.wasLeft, second.wasLeft]).toEqual([true, false])
  clock.advance(2000)
  expect(second.wasLeft).toBe(true)
  const third = await kept(pool, 'a')
  clock.advance(2000)
  expect(third.wasLeft).toBe(true)
})

test.each<[string, (pool: ConnectionPool, client: Connection) => void]>([
  ['is left', () => {}],
  ['is taken', (pool, client) => expect(pool.takeIdle('a')).toBe(client)],
  ['ends', (_, client) => client.close()],
])('when the last idle connection %s no timer goes on', async (_, end) => {
  const { pool, clock } = poolOf()
  const client = await kept(pool, 'a')
  end(pool, client)
  clock.advance(2000)
  expect(clock.runningCount).toBe(0)
})

test('an idle connection that ends is given to nobody, and its place is free', async () => {
  const { pool } = poolOf({ connectionsMax: 2 })
  const first = await kept(pool, 'a')
  const second = await kept(pool, 'a')
  second.close()
  expect(pool.takeIdle('a')).toBe(first)
  expect(pool.takeIdle('a')).toBeUndefined()
  expect(await pool.place('b')).toBeUndefined()
  expect(first.wasLeft).toBe(false)
})

test('the connection that has been without mail for longest gives way first, and no busy one', async () => {
  const { pool, clock } = poolOf({ connectionsMax: 4 })
  clock.advance(1)
  const longest = await kept(pool, 'a')
  clock.advance(1)
  const clearing = await opened(pool)
  pool.clearing(clearing)
  clock.advance(1)
  const last = await kept(pool, 'b')
  const busy = await opened(pool)
  for (const next of [longest, clearing, last]) {
    expect(next.wasLeft).toBe(false)
    expect(await pool.place('c')).toBeUndefined()
    expect(next.wasLeft).toBe(true)
  }
  expect(await isGranted(pool.place('c'))).toBe(false)
  expect(busy.wasLeft).toBe(false)
})

test('a connection whose refused transaction is over does not give way once it has mail again', async () => {
  const { pool } = poolOf({ connectionsMax: 1 })
  const client = await opened(pool)
  pool.clearing(client)
  pool.keep('a', client)
  expect(pool.takeIdle('a')).toBe(client)
  expect(await isGranted(pool.place('b'))).toBe(false)
  expect(client.wasLeft).toBe(false)
})

test('a connection that ends before its refused transaction is over has no place to give', async () => {
  const { pool } = poolOf({ connectionsMax: 1 })
  const client = await opened(pool)
  client.close()
  pool.clearing(client)
  await opened(pool)
  expect(await isGranted(pool.place('a'))).toBe(false)
})

test('the place of a connection whose server says goodbye late is given once', async () => {
  const { pool } = poolOf({ connectionsMax: 1 })
  const client = await kept(pool, 'a')
  client.saysGoodbye = false
  await opened(pool)
  expect(client.wasLeft).toBe(true)
  const place = pool.place('b')
  client.close()
  expect(await isGranted(place)).toBe(false)
})

test('a connection whose server says more than it was asked is closed, and its place is free', async () => {
  const { pool } = poolOf({ connectionsMax: 1 })
  const client = await opened(pool)
  client.saidTooMuch = true
  pool.keep('a', client)
  expect(client.destroyed).toBe(true)
  expect(pool.takeIdle('a')).toBeUndefined()
  expect(await pool.place('a')).toBeUndefined()
})

test('when a pool is closed its connections end, and those that waiting attempts open, too', async () => {
  const { pool, clock } = poolOf({ connectionsMax: 2 })
  const busy = await opened(pool)
  const other = await opened(pool)
  const waiting = ['a', 'b', 'c'].map((nexthop) => pool.place(nexthop))
  pool.close()
  expect([busy.destroyed, other.destroyed]).toEqual([true, true])
  for (const place of waiting) {
    expect(await place).toBeUndefined()
    const late = new Connection()
    pool.add(late)
    expect(late.destroyed).toBe(true)
  }
  expect([pool.openCount, clock.runningCount]).toEqual([0, 0])
})

test('what is idle when a pool is closed ends, and no timer goes on', async () => {
  const { pool, clock } = poolOf()
  const idle = await kept(pool, 'a')
  pool.close()
  expect([idle.destroyed, pool.takeIdle('a'), clock.runningCount]).toEqual([true, undefined, 0])
})
