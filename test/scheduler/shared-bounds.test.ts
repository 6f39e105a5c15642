/** ZMailer's bounds at the scheduler: deliveries at once, counted. */
import { expect, test } from 'vitest'
import { zmailerPolicy, type ZmailerPolicy } from '../../src/policy/zmailer-policy.js'
import { Scheduler, type Entry, type SchedulerOptions } from '../../src/scheduler/scheduler.js'
import { manual } from '../policy/manual.js'

interface Mail {
  readonly transport: string
  readonly nexthop: string
}

class Relay {
  readonly scheduler: Scheduler<Mail>
  underWay: Entry<Mail>[] = []
  /** The most that there were at once, by `transport` and by `transport/nexthop`. */
  readonly most = new Map<string, number>()
  #policy: ZmailerPolicy

  constructor(clauses: string, options: SchedulerOptions = {}) {
    this.#policy = zmailerPolicy(clauses)
    this.scheduler = new Scheduler<Mail>(options, {
      read: ({ transport, nexthop }) => ({
        recipients: [{ index: 0, address: `ada@${nexthop}`, transport, nexthop }],
        complete: true,
      }),
      deferred: () => expect.unreachable('nothing is put off'),
      done: () => undefined,
      limitsOf: (transport, nexthop) => this.#policy.limitsFor(transport, nexthop),
    })
  }

  /** @param addresses `smtp/a.test` @param each messages for each of them */
  admit(addresses: readonly string[], each: number): this {
    for (let i = 0; i < each; i++)
      for (const address of addresses) {
        const [transport = '', nexthop = ''] = address.split('/')
        this.scheduler.admit({ transport, nexthop }, 0, 0)
      }
    return this
  }

  start(): readonly string[] {
    for (let entry = this.scheduler.next(0); entry !== undefined; entry = this.scheduler.next(0))
      this.underWay.push(entry)
    const names = this.underWay.map(({ transport, nexthop }) => `${transport}/${nexthop}`)
    for (const name of ['all', ...names, ...this.underWay.map(({ transport }) => transport)]) {
      const count = names.filter((one) => name === 'all' || one === name || one.startsWith(`${name}/`)).length
      this.most.set(name, Math.max(count, this.most.get(name) ?? 0))
    }
    return names
  }

  /** Delivers until nothing is left. @returns messages delivered */
  deliverAll(): number {
    let count = 0
    for (this.start(); this.underWay.length > 0; this.start()) {
      this.scheduler.report(this.underWay.shift()!, 'ok', 0)
      count++
    }
    return count
  }

  reload(clauses: string): void {
    this.#policy = zmailerPolicy(clauses)
    this.scheduler.limitsChanged(0)
  }
}

const hosts = ['a.fi', 'b.fi', 'c.se', 'd.se'].map((host) => `smtp/${host}`)

test('without clauses 28 messages are delivered at once', () => {
  expect(new Relay('none/* maxta=1').admit(hosts, 7).start()).toHaveLength(20)
})

test.each([
  ['maxta=3', 3],
  ['maxchannel=4', 4],
  ['maxring=2', 2],
  ['maxta=9 maxchannel=8 maxring=7', 7],
])('*/* %s: so many deliveries at once are %d, and all mail is delivered', (settings, count) => {
  const relay = new Relay(`*/* ${settings}`).admit(hosts, 7)
  expect(relay.deliverAll()).toBe(28)
  expect(relay.most.get('all')).toBe(count)
})

test('a ring is shared by all destinations whose search ended at its clause, and by no others', () => {
  const relay = new Relay('smtp/*.fi maxring=2 command=x\nsmtp/* command=x').admit(hosts, 7)
  const names = relay.start()
  expect(names.filter((name) => name.endsWith('.fi'))).toHaveLength(2)
  expect(names.filter((name) => name.endsWith('.se'))).toHaveLength(10)
  expect(relay.deliverAll()).toBe(28)
})

test('maxta counts deliveries of all transports, each against the bound of its own clause', () => {
  const relay = new Relay('slow/* maxta=2\nsmtp/* maxta=5').admit(['slow/a', 'smtp/b'], 9)
  const names = relay.start()
  expect(names).toHaveLength(5)
  expect(names.filter((name) => name === 'slow/a').length).toBeLessThanOrEqual(2)
  expect(relay.deliverAll()).toBe(18)
})

test('maxchannel of one host does not throttle those with a larger one', () => {
  const relay = new Relay('smtp/a.fi maxchannel=2 command=x\nsmtp/* maxchannel=12 command=x')
  const names = relay.admit(hosts, 7).start()
  expect(names.filter((name) => name === 'smtp/a.fi').length).toBeLessThanOrEqual(2)
  expect(names).toHaveLength(12)
  expect(relay.deliverAll()).toBe(28)
})

test("the manual's complete example keeps every one of its bounds, and delivers all mail", () => {
  const toronto = ['smtp/cs.toronto.edu', 'smtp/ee.toronto.edu', 'smtp/me.toronto.edu']
  const others = ['smtp/cs.utoronto.ca', 'smtp/a.example', 'smtp/b.example', 'smtp/c.example']
  const services = ['local/home', 'error/x', 'hold/y', 'uucp/z']
  const relay = new Relay(manual).admit([...toronto, ...others, ...services], 12)
  const names = relay.start()
  expect(names.filter((name) => name.endsWith('.toronto.edu'))).toHaveLength(2)
  expect(names.filter((name) => name.endsWith('.utoronto.ca'))).toHaveLength(2)
  expect(names.filter((name) => name.endsWith('.example'))).toHaveLength(5)
  expect(relay.deliverAll()).toBe(12 * 11)
  expect(['smtp', 'local', 'hold', 'uucp'].map((name) => relay.most.get(name))).toEqual([9, 2, 1, 5])
})

test('the reserve of processes passes a destination whose ring is full', () => {
  const options = { defaultProcessLimit: 20, defaultProcessReserve: 40, initialDestinationConcurrency: 20 }
  const relay = new Relay('smtp/*.fi maxring=1 command=x\nsmtp/* command=x', options)
  relay.admit(['smtp/busy.se'], 20).admit(['smtp/a.fi', 'smtp/b.fi', 'smtp/c.se'], 1)
  const names = relay.start()
  expect(names.filter((name) => name === 'smtp/busy.se')).toHaveLength(12)
  expect(names.slice(12)).toEqual(['smtp/a.fi', 'smtp/c.se'])
  expect(relay.deliverAll()).toBe(23)
})

test('when the clauses change what is under way counts, and what waits follows the new ones', () => {
  const relay = new Relay('smtp/* maxring=6').admit(hosts, 7)
  expect(relay.start()).toHaveLength(6)
  relay.reload('smtp/* maxring=2')
  for (let i = 0; i < 4; i++) relay.scheduler.report(relay.underWay.shift()!, 'ok', 0)
  expect(relay.start()).toHaveLength(2)
  relay.reload('smtp/* maxring=9')
  expect(relay.start()).toHaveLength(9)
  relay.deliverAll()
  expect(relay.scheduler.activeCount).toBe(0)
})
