/** What a policy lets destinations have at once, and mail that waits until it is asked for. */
import { expect, test } from 'vitest'
import type { Transport } from '../../../src/delivery/transport.js'
import type { QueueOptions } from '../../../src/engine/life/options.js'
import type { RetryPolicy } from '../../../src/policy/retry-policy.js'
import { fixedRetry } from '../../../src/policy/fixed-retry.js'
import { zmailerPolicy } from '../../../src/policy/zmailer-policy.js'
import { manual } from '../../policy/manual.js'
import { delivered, mail, pause, simulated, submission, type Stage } from '../stage.js'

/** Transports whose deliveries take a second; how many of them there were at once. */
class Counted {
  readonly transports: QueueOptions['transports']
  readonly most = new Map<string, number>()
  readonly #busy = new Map<string, number>()

  constructor(stage: Stage, names: readonly string[]) {
    const transport = (name: string): Transport => ({
      deliver: async ({ nexthop }) => {
        const counted = ['all', name, `${name}/${nexthop.replace(/^[^.]*/, '*')}`]
        for (const key of counted) this.#count(key, 1)
        await pause(stage, 1000)
        for (const key of counted) this.#count(key, -1)
        return delivered
      },
    })
    this.transports = Object.fromEntries(names.map((name) => [name, transport(name)]))
  }

  #count(key: string, by: number): void {
    const busy = (this.#busy.get(key) ?? 0) + by
    this.#busy.set(key, busy)
    this.most.set(key, Math.max(busy, this.most.get(key) ?? 0))
  }
}

/** The transport is the address's local part. */
const route: QueueOptions['route'] = (recipient) => {
  const [transport = '', nexthop = ''] = recipient.split('@')
  return { transport, nexthop }
}

const hosts = ['cs.toronto.edu', 'ee.toronto.edu', 'cs.utoronto.ca', 'a.example', 'b.example']

test.each([
  ['*/* maxta=1', 'all', 1],
  ['*/* maxchannel=1', 'smtp', 1],
  ['smtp/*.toronto.edu maxring=2 command=x', 'smtp/*.toronto.edu', 2],
])('%s: of 40 messages so many of %s are delivered at once: %d', async (clauses, counted, count) => {
  await simulated(async (stage) => {
    const { transports, most } = new Counted(stage, ['smtp'])
    const queue = await stage.open({ transports, route, retry: zmailerPolicy(clauses) })
    await Promise.all(
      Array.from({ length: 40 }, (_, i) => queue.submit(submission(`smtp@${hosts[i % hosts.length]!}`))),
    )
    await queue.idle()
    expect(most.get(counted)).toBe(count)
    expect(stage.warnings).toEqual([])
  })
})

test('clauses for other channels bound nothing', async () => {
  await simulated(async (stage) => {
    const { transports, most } = new Counted(stage, ['smtp'])
    const queue = await stage.open({ transports, route, retry: zmailerPolicy('none/* maxta=1') })
    await Promise.all(
      Array.from({ length: 40 }, (_, i) => queue.submit(submission(`smtp@${hosts[i % hosts.length]!}`))),
    )
    await queue.idle()
    // Windows alone are between 5 and 20 for each of five hosts.
    expect(most.get('all')).toBeGreaterThan(10)
  })
})

test("the manual's complete example bounds every channel and ring", async () => {
  await simulated(async (stage) => {
    const { transports, most } = new Counted(stage, ['smtp', 'local', 'error', 'hold', 'uucp'])
    const queue = await stage.open({ transports, route, retry: zmailerPolicy(manual) })
    const addresses = [
      ...hosts.map((host) => `smtp@${host}`),
      'local@a.b',
      'error@a.b',
      'hold@a.b',
      'uucp@a.b',
    ]
    await Promise.all(Array.from({ length: 15 * 9 }, (_, i) => queue.submit(submission(addresses[i % 9]!))))
    await queue.idle()
    expect(Object.fromEntries(most)).toMatchObject({
      smtp: 9,
      'smtp/*.toronto.edu': 2,
      'smtp/*.utoronto.ca': 2,
      'smtp/*.example': 5,
      local: 2,
      hold: 1,
      uucp: 5,
    })
    expect(most.get('error')).toBeLessThanOrEqual(10)
  })
})

test('a maxchannel above the default process limit is reached, and limits nothing else', async () => {
  await simulated(async (stage) => {
    const { transports, most } = new Counted(stage, ['smtp', 'other'])
    const scheduler = { initialDestinationConcurrency: 300, defaultDestinationConcurrencyLimit: 300 }
    const queue = await stage.open({
      transports,
      route,
      scheduler: { ...scheduler, defaultProcessReserve: 0, defaultUnansweredProcessShare: 100 },
      retry: zmailerPolicy('smtp/* maxchannel=150'),
    })
    await Promise.all(
      Array.from({ length: 340 }, (_, i) =>
        queue.submit(submission(`${i % 2 ? 'smtp' : 'other'}@x.example`)),
      ),
    )
    await queue.idle()
    expect([most.get('smtp'), most.get('other')]).toEqual([150, 100])
  })
})

test('another policy applies to what waits', async () => {
  await simulated(async (stage) => {
    const { transports, most } = new Counted(stage, ['smtp'])
    const queue = await stage.open({ transports, route, retry: zmailerPolicy('*/* maxta=1 interval=1m') })
    await Promise.all(hosts.map((host) => queue.submit(submission(`smtp@${host}`))))
    await pause(stage, 1500)
    expect(most.get('all')).toBe(1)
    queue.reconfigure({ retry: zmailerPolicy('*/* maxta=3 interval=7m retries="1"') })
    await queue.idle()
    expect(most.get('all')).toBe(3)
    expect(() => queue.reconfigure({ retry: {} as RetryPolicy })).toThrow(/at least one interval/)
  })
})

test.each([
  [
    'throws',
    () => {
      throw new Error('no')
    },
  ],
  ['answers nothing', () => undefined],
  ['reject', () => Promise.reject(new Error('no'))],
  ['answers no counts', () => ({ ring: 'x', queueonly: false, deliveryCountMax: 0 })],
])('a policy whose limits %s limits nothing, and the operator is told', async (_, limitsFor) => {
  await simulated(async (stage) => {
    const retry = { ...fixedRetry([1000]), limitsFor } as unknown as RetryPolicy
    const queue = await stage.open({ retry })
    await queue.submit(submission())
    await queue.idle()
    expect(stage.told('delivered')).toHaveLength(1)
    expect(new Set(stage.warnings)).toEqual(new Set(['POLICY_INVALID']))
  })
})

const dialUp = zmailerPolicy('dial/* queueonly expiry=4d\nsmtp/* interval=1m')

test('queue-only mail is not attempted until it is flushed, and later mail waits again', async () => {
  await simulated(async (stage) => {
    const { transports, most } = new Counted(stage, ['smtp', 'dial'])
    const queue = await stage.open({ transports, route, retry: dialUp })
    await Promise.all(
      ['dial@a.example', 'dial@b.example', 'smtp@a.example'].map((one) => queue.submit(submission(one))),
    )
    await pause(stage, 2 * 86_400_000)
    expect([most.get('dial'), most.get('smtp')]).toEqual([undefined, 1])
    expect(await queue.flush({ nexthop: 'A.example' })).toMatchObject({ messageCount: 1 })
    await pause(stage, 5000)
    expect([most.get('dial/*.example'), most.get('dial')]).toEqual([1, 1])
    expect((await stage.ids()).length).toBe(1)
    await queue.submit(submission('dial@a.example'))
    await pause(stage, 5000)
    expect((await stage.ids()).length).toBe(2)
    await queue.flush({ all: true })
    await pause(stage, 5000)
    expect(await stage.isEmpty()).toBe(true)
  })
})

test('of a message with several nexthops the flush of one attempts that one', async () => {
  await simulated(async (stage) => {
    const asked: string[] = []
    const dial: Transport = { deliver: ({ nexthop }) => (asked.push(nexthop), delivered) }
    const queue = await stage.open({ transports: { dial }, route, retry: dialUp })
    await queue.submit(submission(['dial@a.example', 'dial@b.example']))
    await pause(stage, 5000)
    await queue.flush({ nexthop: 'b.example' })
    await pause(stage, 5000)
    expect(asked).toEqual(['b.example'])
    expect((await stage.ids()).length).toBe(1)
  })
})

test('queue-only mail survives a crash, still waits, and expires when it is too old', async () => {
  await simulated(async (stage) => {
    const dial: Transport = { deliver: () => expect.unreachable('nobody asked for it') }
    const transports = { dial, out: { deliver: () => delivered } }
    const ways = {
      transports,
      route: (one: string) => (one.startsWith('dial') ? route(one) : { transport: 'out', nexthop: 'x' }),
      retry: dialUp,
    }
    let queue = await stage.open(ways)
    await queue.submit({ ...submission('dial@a.example', mail()), sender: 'ada@example.org' })
    await pause(stage, 5000)
    queue = await stage.open(ways)
    expect((await stage.ids()).length).toBe(1)
    const expired: string[] = []
    queue.on('expired', ({ sender }) => expired.push(sender))
    await pause(stage, 3.9 * 86_400_000)
    expect(expired).toEqual([])
    await pause(stage, 0.4 * 86_400_000)
    expect(expired).toEqual(['ada@example.org'])
    await stage.until('the report is delivered', () => stage.isEmpty())
  })
})
