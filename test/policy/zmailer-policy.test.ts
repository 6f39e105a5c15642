import fc from 'fast-check'
import { expect, test } from 'vitest'
import { processorMs } from '../processor-time.js'
import { seededPrng } from '../../src/base/prng.js'
import { intervalCountMax } from '../../src/policy/intervals.js'
import { zmailerPolicy, type ZmailerPolicy } from '../../src/policy/zmailer-policy.js'
import { refusal } from './refusal.js'

/** The complete configuration of the manual's chapter. */
const manual = `# Default values
*/*     interval=1m expiry=3d retries="1 1 2 3 5 8 13 21 34"
        maxring=0 maxta=0 skew=5 user=root group=daemon
# Boilerplate parameters for local delivery and service channels
local/* interval=10s expiry=3h maxchannel=2 command=mailbox
error   interval=5m maxchannel=10 command=errormail
hold/*  interval=5m maxchannel=1 command=hold
# Miscellaneous channels supported by router configuration
smtp/*.toronto.edu
smtp/*.utoronto.ca maxchannel=10 maxring=2
        command="smtp -srl /var/log/smtp"
smtp/*  maxchannel=10 maxring=5
        command="smtp -esrl /var/log/smtp"
uucp/*  maxchannel=5 command="sm -c $channel uucp"
`
const minuteMs = 60_000
const hourMs = 60 * minuteMs

function walk(policy: ZmailerPolicy, count: number, transport = 'smtp', nexthop = 'example.org'): number[] {
  return Array.from({ length: count }, (_, i) => {
    const state = { attempts: i + 1, ageMs: 0, transport, nexthop }
    const decision = policy.decide(state, seededPrng(i))
    return decision.kind === 'retry' ? decision.delayMs : Number.NaN
  })
}

test('settings accumulate in order until a clause with a command', () => {
  const policy = zmailerPolicy(
    [
      '*/* interval=1m maxring=7',
      'smtp/* interval=2m',
      'smtp/*.fi expiry=1d command=x',
      'smtp/* maxring=9',
    ].join('\n'),
  )
  expect(policy.settingsFor('smtp', 'cs.hut.fi')).toMatchObject({
    intervalMs: 2 * minuteMs,
    expiryMs: 24 * hourMs,
    maxring: 7,
    command: 'x',
  })
  expect(policy.settingsFor('smtp', 'example.org')).toMatchObject({
    expiryMs: 72 * hourMs,
    maxring: 9,
    command: '',
  })
})

test('what no clause sets has the default of the manual', () => {
  expect(zmailerPolicy('local/* user=mail').settingsFor('smtp', 'example.org')).toEqual({
    intervalMs: minuteMs,
    expiryMs: 72 * hourMs,
    retries: [1, 1, 2, 3, 5, 8, 13, 21, 34],
    maxta: 0,
    maxchannel: 0,
    maxring: 0,
    ageorder: false,
    queueonly: false,
    skew: 5,
    idlemaxMs: 3 * minuteMs,
    overfeed: 0,
    bychannel: false,
    user: 'root',
    group: 'daemon',
    command: '',
  })
})

test('hosts match without regard to case, channels with', () => {
  const policy = zmailerPolicy('smtp/*.FI maxring=3')
  expect(policy.settingsFor('smtp', 'CS.hut.Fi').maxring).toBe(3)
  expect(policy.settingsFor('SMTP', 'cs.hut.fi').maxring).toBe(0)
})

test("the manual's example says what the manual says that it says", () => {
  const policy = zmailerPolicy(manual)
  expect(policy.settingsFor('error', 'anything').command).toBe('errormail')
  expect(policy.limitsFor('smtp', 'cs.toronto.edu')).toMatchObject({
    destinationConcurrencyLimit: 2,
    ringConcurrencyLimit: 2,
  })
  expect(policy.limitsFor('smtp', 'cs.toronto.edu').ring).not.toBe(
    policy.limitsFor('smtp', 'example.org').ring,
  )
  expect(policy.limitsFor('smtp', 'example.org')).toEqual({
    deliveryCountMax: 1000,
    destinationConcurrencyLimit: 5,
    ring: policy.limitsFor('smtp', 'example.net').ring,
    ringConcurrencyLimit: 5,
    ageorder: false,
    queueonly: false,
  })
  expect(
    ['smtp', 'local', 'hold', 'uucp', 'other'].map((channel) => policy.processLimitFor(channel)),
  ).toEqual([10, 2, 1, 5, 1000])
  expect(policy.settingsFor('uucp', 'x').bychannel).toBe(true)
})

test.each([
  ['maxta=3 maxchannel=4 maxring=5', 3],
  ['maxta=5 maxchannel=3 maxring=4', 3],
  ['maxta=4 maxchannel=5 maxring=3', 3],
  ['maxta=0 maxchannel=0 maxring=0', 1000],
])('deliveries at once to one destination are as few as each limit says: %s', (settings, limit) => {
  const policy = zmailerPolicy(`*/* ${settings}`)
  expect(policy.limitsFor('smtp', 'example.org').destinationConcurrencyLimit).toBe(limit)
})

test('destinations of one clause share a ring, those of two transports none', () => {
  const policy = zmailerPolicy('*/*.fi maxring=3\n*/*.se maxring=3')
  const ring = (transport: string, nexthop: string): string => policy.limitsFor(transport, nexthop).ring
  expect(ring('smtp', 'a.fi')).toBe(ring('smtp', 'b.fi'))
  expect(new Set([ring('smtp', 'a.fi'), ring('smtp', 'a.se'), ring('uucp', 'a.fi')]).size).toBe(3)
})

test('the process limit of a channel is the largest that one of its hosts has', () => {
  const limit = (text: string): number => zmailerPolicy(text).processLimitFor('smtp')
  expect(limit('*/* maxchannel=0\nsmtp/* maxchannel=9 command=x')).toBe(9)
  expect(limit('smtp/*.fi maxchannel=20 command=x\nsmtp/* maxchannel=9 command=x')).toBe(20)
  expect(limit('smtp/*.fi maxchannel=2 command=x\nsmtp/* maxchannel=9 command=x\nsmtp/* maxchannel=50')).toBe(
    9,
  )
  expect(limit('smtp/*.fi maxchannel=2')).toBe(1000)
})

test('the list of retries is gone through once, in order, times the interval', () => {
  const policy = zmailerPolicy('*/* interval=10s retries="1 1 2 3 5"', { jitter: 0 })
  expect(policy.intervalsMs).toEqual([10_000, 20_000, 30_000, 50_000])
  expect(walk(policy, 5)).toEqual([10_000, 10_000, 20_000, 30_000, 50_000])
})

test('after its end the list is entered at random spots and gone on with to its end', () => {
  const policy = zmailerPolicy('*/* interval=1s retries="1 2 3 4 5 6 7"', { jitter: 0 })
  const entries = new Set<number>()
  for (const nexthop of ['a.example', 'b.example', 'c.example', 'd.example']) {
    const delaysS = walk(policy, 300, 'smtp', nexthop).map((delayMs) => delayMs / 1000)
    expect(walk(policy, 300, 'smtp', nexthop.toUpperCase()).map((delayMs) => delayMs / 1000)).toEqual(delaysS)
    for (const [i, delayS] of delaysS.entries()) {
      const before = delaysS[i - 1]
      if (before === 7) entries.add(delayS)
      const isEntry = before === undefined || before === 7
      expect(isEntry || delayS === before + 1).toBe(true)
    }
  }
  expect([...entries].sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7])
})

test('a place in the list is found at once, after however many attempts', () => {
  const policy = zmailerPolicy('*/* interval=1s', { jitter: 0 })
  const state = { attempts: 1e9, ageMs: 0, transport: 'smtp', nexthop: 'a.example' }
  const tookMs = processorMs(() => {
    expect(policy.decide(state, seededPrng(1)).kind).toBe('retry')
  })
  expect(tookMs).toBeLessThan(1000)
})

test('different destinations enter the list at different spots', () => {
  const policy = zmailerPolicy('*/* interval=1s retries="1 2 3 4 5 6 7"', { jitter: 0 })
  expect(walk(policy, 50, 'smtp', 'a.example')).not.toEqual(walk(policy, 50, 'smtp', 'b.example'))
})

test('a list of one repeats, and retries=0 waits a second', () => {
  expect(walk(zmailerPolicy('*/* retries=1'), 4)).toEqual(Array(4).fill(minuteMs))
  expect(walk(zmailerPolicy('*/* retries=0'), 4)).toEqual(Array(4).fill(1000))
})

test('an address expires at its own age, and never with expiry=0', () => {
  const policy = zmailerPolicy('*/* expiry=2d\nlocal expiry=3h\nhold expiry=0')
  const kind = (transport: string, ageMs: number): string =>
    policy.decide({ attempts: 1, ageMs, transport, nexthop: 'x' }, seededPrng(1)).kind
  expect([kind('local', 3 * hourMs - 1), kind('local', 3 * hourMs)]).toEqual(['retry', 'expire'])
  expect([kind('smtp', 48 * hourMs - 1), kind('smtp', 48 * hourMs)]).toEqual(['retry', 'expire'])
  expect(kind('hold', 1e12)).toBe('retry')
})

test('a report is given up with the oldest mail, and never where some mail is not', () => {
  expect(zmailerPolicy('local expiry=3h\nsmtp expiry=7d').bounceQueueLifetimeMs).toBe(7 * 24 * hourMs)
  expect(zmailerPolicy('local expiry=3h\nhold expiry=0').bounceQueueLifetimeMs).toBeGreaterThan(1e15)
})

test('a policy that is no text, and options that there are none of, are refused as OPTION_INVALID', () => {
  const bad: readonly (readonly [unknown, unknown, string?])[] = [
    [undefined, undefined, 'text'],
    [Buffer.from(manual), undefined, 'text'],
    [manual, { jiter: 0 }, 'jiter'],
    [manual, null],
  ]
  for (const [text, options, option] of bad)
    expect(refusal(() => zmailerPolicy(text as string, options as object))).toMatchObject({
      code: 'OPTION_INVALID',
      place: option === undefined ? {} : { option },
    })
})

test('jitter that is no share is refused as OPTION_INVALID', () => {
  expect(refusal(() => zmailerPolicy(manual, { jitter: 0.6 }))?.code).toBe('OPTION_INVALID')
})

test('lanes are made for intervals and lists that meet, not for those that cannot', () => {
  const policy = zmailerPolicy(
    '*/* interval=1m retries="1 2"\nlocal/* interval=10s command=x\nsmtp/* retries="3" command=x',
  )
  expect(policy.intervalsMs).toEqual([10_000, 20_000, 60_000, 120_000, 180_000])
})

test('with more delays than lanes each is rounded to a lane near it', () => {
  const retries = Array.from({ length: 100 }, (_, i) => i + 1)
  const policy = zmailerPolicy(`*/* interval=1m retries="${retries.join(' ')}"`, { jitter: 0 })
  expect(policy.intervalsMs).toHaveLength(intervalCountMax)
  for (const [i, delayMs] of walk(policy, 100).entries()) {
    expect(policy.intervalsMs).toContain(delayMs)
    expect(Math.abs(delayMs / ((i + 1) * minuteMs) - 1)).toBeLessThan(0.2)
  }
})

test('every delay is one of the intervals, exact when there is no jitter', () => {
  const time = fc.integer({ min: 1, max: 3000 }).map((s) => `interval=${s}s`)
  const list = fc
    .array(fc.integer({ min: 0, max: 50 }), { minLength: 1, maxLength: 3 })
    .map((n) => `retries="${n.join(' ')}"`)
  const body = fc.oneof(
    time,
    list,
    fc.tuple(time, list).map((both) => both.join(' ')),
  )
  const head = fc.constantFrom('*/*', 'smtp/*', 'smtp/*.fi', 's*/a*', 'local')
  const clause = fc.tuple(head, body, fc.constantFrom('', ' command=x')).map(([a, b, c]) => `${a} ${b}${c}`)
  fc.assert(
    fc.property(
      fc.array(clause, { minLength: 1, maxLength: 4 }),
      fc.constantFrom('smtp', 'local', 'x'),
      fc.constantFrom('a.fi', 'a', 'b.org'),
      fc.integer({ min: 1, max: 12 }),
      (clauses, transport, nexthop, attempts) => {
        const text = clauses.join('\n')
        const state = { attempts, ageMs: 0, transport, nexthop }
        const exact = zmailerPolicy(text, { jitter: 0 })
        const { intervalMs, retries } = exact.settingsFor(transport, nexthop)
        const decision = exact.decide(state, seededPrng(1))
        if (decision.kind !== 'retry') throw new Error('expired at age 0')
        expect(exact.intervalsMs.length).toBeLessThanOrEqual(intervalCountMax)
        fc.pre(exact.intervalsMs.length < intervalCountMax)
        expect(retries.map((factor) => Math.max(factor * intervalMs, 1000))).toContain(decision.delayMs)
        const moved = zmailerPolicy(text).decide(state, seededPrng(attempts))
        expect(exact.intervalsMs).toContain(moved.kind === 'retry' && moved.delayMs)
      },
    ),
    { numRuns: 500 },
  )
})
