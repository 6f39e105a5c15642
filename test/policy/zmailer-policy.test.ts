import fc from 'fast-check'
import { expect, test } from 'vitest'
import { seededPrng } from '../../src/base/prng.js'
import { intervalCountMax } from '../../src/policy/intervals.js'
import { readFileSync } from 'node:fs'
import { zmailerPolicy, zmailerPolicyProblems, type ZmailerPolicy } from '../../src/policy/zmailer-policy.js'
import { manual } from './manual.js'
import { refusal } from './refusal.js'

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
  expect(policy.limitsFor('smtp', 'cs.toronto.edu')).toEqual({
    deliveryCountMax: 1000,
    transportDeliveryCountMax: 10,
    ring: 'line 9',
    ringDeliveryCountMax: 2,
    queueonly: false,
  })
  expect(policy.limitsFor('smtp', 'cs.utoronto.ca')).toMatchObject({
    ring: 'line 10',
    ringDeliveryCountMax: 2,
  })
  expect(policy.limitsFor('smtp', 'example.org')).toMatchObject({ ring: 'line 12', ringDeliveryCountMax: 5 })
  expect(
    ['smtp', 'local', 'hold', 'uucp', 'other'].map(
      (channel) => policy.limitsFor(channel, 'x').transportDeliveryCountMax,
    ),
  ).toEqual([10, 2, 1, 5, 1000])
  expect(policy.settingsFor('uucp', 'x').bychannel).toBe(true)
})

test('destinations whose search ended at one clause share a ring, of each channel one with bychannel', () => {
  const policy = zmailerPolicy('*/*.fi maxring=3\n*/*.se maxring=3 bychannel')
  const ring = (transport: string, nexthop: string): string => policy.limitsFor(transport, nexthop).ring
  expect(ring('smtp', 'a.fi')).toBe(ring('smtp', 'b.fi'))
  expect(ring('smtp', 'a.fi')).toBe(ring('uucp', 'a.fi'))
  expect(ring('smtp', 'a.se')).not.toBe(ring('smtp', 'a.fi'))
  expect(ring('smtp', 'a.se')).not.toBe(ring('uucp', 'a.se'))
})

test('an explanation names the clauses that match, and the line of each setting', () => {
  const explained = zmailerPolicy(manual).explain('smtp', 'CS.toronto.edu')
  expect(explained.clauses).toEqual([
    { line: 2, contentsLine: 2, pattern: '*/*' },
    { line: 9, contentsLine: 10, pattern: 'smtp/*.toronto.edu' },
  ])
  expect(explained.lines).toMatchObject({ intervalMs: 2, maxta: 3, maxchannel: 10, maxring: 10, command: 11 })
  expect(explained.lines.overfeed).toBeUndefined()
  expect(explained.delaysMs.map((delayMs) => delayMs / minuteMs)).toEqual([1, 1, 2, 3, 5, 8, 13, 21, 34])
})

test('an answer that is remembered is the one that the clauses give', () => {
  const policy = zmailerPolicy('smtp/*.fi maxring=3\nsmtp/a* maxring=4')
  const ask = (): number[] =>
    ['a.fi', 'b.fi', 'a.se', 'A.FI'].map((host) => policy.limitsFor('smtp', host).ringDeliveryCountMax)
  expect(ask()).toEqual([4, 3, 4, 4])
  for (let i = 0; i < 25_000; i++) policy.limitsFor('smtp', `${i}.example`)
  expect(ask()).toEqual([4, 3, 4, 4])
})

test('mail that waits until it is asked for wakes seldom, and expires when it should', () => {
  const policy = zmailerPolicy('dial/* queueonly expiry=4d\nkept/* queueonly expiry=0\n*/* interval=1m')
  const delay = (transport: string, ageDays: number): number | string => {
    const state = { attempts: 9, ageMs: ageDays * 24 * hourMs, transport, nexthop: 'x' }
    const decision = policy.decide(state, seededPrng(1))
    return decision.kind === 'retry' ? decision.delayMs / hourMs : decision.kind
  }
  expect([0, 0.5, 3, 3.9, 4].map((ageDays) => delay('dial', ageDays))).toEqual([96, 24, 24, 6, 'expire'])
  expect(delay('kept', 400)).toBe(30 * 24)
})

test('the types of a policy and its problems are exported', () => {
  const names = readFileSync(new URL('../../src/index.ts', import.meta.url), 'utf8')
  for (const name of ['ZmailerPolicy', 'ZmailerSettings', 'ZmailerClause', 'DeliveryLimits', 'PolicyProblem'])
    expect(names).toMatch(new RegExp(`\\b${name}\\b`))
  expect(zmailerPolicyProblems(manual)).toEqual([])
  expect(zmailerPolicyProblems('smtp/* maxta=z')).toEqual([
    { line: 1, column: 14, expected: 'a whole number from 0 to 999999999 for maxta' },
  ])
})

test('the list of retries is gone through once, in order, times the interval', () => {
  const policy = zmailerPolicy('*/* interval=10s retries="1 1 2 3 5"')
  expect(policy.intervalsMs).toEqual([10_000, 20_000, 30_000, 50_000])
  expect(walk(policy, 5)).toEqual([10_000, 10_000, 20_000, 30_000, 50_000])
})

test('after its end the list is entered at random spots and gone on with to its end', () => {
  const policy = zmailerPolicy('*/* interval=1s retries="1 2 3 4 5 6 7"')
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

test('different destinations enter the list at different spots', () => {
  const policy = zmailerPolicy('*/* interval=1s retries="1 2 3 4 5 6 7"')
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
  const policy = zmailerPolicy(`*/* interval=1m retries="${retries.join(' ')}"`)
  expect(policy.intervalsMs).toHaveLength(intervalCountMax)
  for (const [i, delayMs] of walk(policy, 100).entries()) {
    expect(policy.intervalsMs).toContain(delayMs)
    expect(Math.abs(delayMs / ((i + 1) * minuteMs) - 1)).toBeLessThan(0.2)
  }
})

test('with jitter a delay is another one of the same clause, never one of another clause', () => {
  const policy = zmailerPolicy(manual, { jitter: 0.5 })
  const drawn = new Set<number>()
  for (let i = 0; i < 2000; i++) {
    const state = { attempts: 3, ageMs: 0, transport: 'smtp', nexthop: 'example.org' }
    const decision = policy.decide(state, seededPrng(i))
    drawn.add(decision.kind === 'retry' ? decision.delayMs / minuteMs : Number.NaN)
  }
  expect([...drawn].sort((a, b) => a - b)).toEqual([1, 2, 3])
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
        const exact = zmailerPolicy(text)
        const { intervalMs, retries } = exact.settingsFor(transport, nexthop)
        const decision = exact.decide(state, seededPrng(1))
        if (decision.kind !== 'retry') throw new Error('expired at age 0')
        expect(exact.intervalsMs.length).toBeLessThanOrEqual(intervalCountMax)
        fc.pre(exact.intervalsMs.length < intervalCountMax)
        expect(retries.map((factor) => Math.max(factor * intervalMs, 1000))).toContain(decision.delayMs)
        const moved = zmailerPolicy(text, { jitter: 0.1 }).decide(state, seededPrng(attempts))
        expect(exact.intervalsMs).toContain(moved.kind === 'retry' && moved.delayMs)
      },
    ),
    { numRuns: 500 },
  )
})

test('where commands are run, overfeed lets each agent have so many deliveries more', () => {
  const text = 'a/* maxta=3 maxchannel=2 maxring=1 overfeed=4 command=x\nb/* maxring=1 overfeed=4'
  const ring = (agents: boolean, transport: string): number =>
    zmailerPolicy(text, { agents }).limitsFor(transport, 'x').ringDeliveryCountMax
  expect([ring(true, 'a'), ring(false, 'a'), ring(true, 'b')]).toEqual([5, 1, 1])
  expect(zmailerPolicy(text, { agents: true }).limitsFor('a', 'x')).toMatchObject({
    deliveryCountMax: 15,
    transportDeliveryCountMax: 10,
  })
})

test.each([
  ['a/* maxchannel=50\na/* overfeed=4 command=x', true, 250],
  ['a/* maxchannel=50\na/* overfeed=4 command=x', false, 50],
  ['a/* maxchannel=50 command=x\nb/* overfeed=4 command=x', true, 50],
  ['a/* maxchannel=999999999 overfeed=999999999 command=x', true, 999_999_999],
])('a process limit has room for what agents are overfed with: %j, agents %s', (text, agents, most) => {
  expect(zmailerPolicy(text, { agents }).processLimitFor('a')).toBe(most)
})
