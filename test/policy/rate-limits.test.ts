/** Limits on what is sent in a time: rates hold, memory is bounded, replies slow a site. */
import { expect, test } from 'vitest'
import { seededPrng } from '../../src/base/prng.js'
import { bucketsMax, orderedMax, SendingLimits, type LimitedDelivery } from '../../src/policy/rate-limits.js'
import { limitsIn, shapingIn, shapingDefault } from '../../src/relay/tables/limit-table.js'

const to = (nexthop: string, more: Partial<LimitedDelivery> = {}): LimitedDelivery => ({
  transport: 'smtp',
  nexthop,
  sender: 'ada@example.org',
  tags: [],
  sources: [],
  priority: 'normal',
  ...more,
})

const due = { kind: 'due' } as const
const fresh = { kind: 'new' } as const
const hourMs = 3_600_000

const table = (text: string): SendingLimits => new SendingLimits(limitsIn(text, 'limits', true), [], 0)

/** How many of these begin at this moment. */
const begun = (limits: SendingLimits, delivery: LimitedDelivery, nowMs: number, count = 100): number => {
  let taken = 0
  for (let n = 0; n < count; n++) if (limits.take(delivery, due, nowMs, 0) === undefined) taken++
  return taken
}

const waitMs = (limits: SendingLimits, delivery: LimitedDelivery, nowMs: number): number =>
  limits.take(delivery, fresh, nowMs, 0)?.waitMs ?? 0

test('a start begins with one, and a rest gives a tenth at once', () => {
  const limits = table('nexthop *.example 100/second')
  expect(begun(limits, to('a.example'), 0)).toBe(1)
  expect(begun(limits, to('b.example'), 0)).toBe(1)
  expect(begun(limits, to('a.other'), 0)).toBe(100)
  expect(begun(limits, to('A.example'), 5000)).toBe(10)
  expect(begun(limits, to('c.example'), 5000)).toBe(10)
})

test.each([
  [1, 1000],
  [3, 1000],
  [10, 1000],
  [25, 1000],
  [100, 60_000],
  [5000, 24 * hourMs],
])(
  'in no time of its length more than %d of %d ms begin, however they come, and nearly as many do',
  (count, perMs) => {
    const prng = seededPrng(count)
    const limits = new SendingLimits([{ kind: 'nexthop', pattern: '*', count, perMs }], [], 0)
    const begins: number[] = []
    const lengths = 6
    for (let nowMs = 0; nowMs < lengths * perMs;) {
      // Rests now and then, and else far more than may begin.
      const isRest = prng.uint32() % (20 * count) === 0
      nowMs += isRest ? perMs / 3 : (perMs / count) * (prng.uint32() / 2 ** 32)
      if (limits.take(to('a.example'), due, nowMs, 0) === undefined) begins.push(nowMs)
    }
    const spans = begins.slice(count).map((endMs, n) => endMs - begins[n]!)
    expect(Math.min(...spans)).toBeGreaterThan(perMs * (1 - 1e-6))
    expect(begins.length).toBeGreaterThan(0.6 * lengths * count)
  },
)

test('a life after a crash adds one, whatever the time of the limit', () => {
  const text = 'tag news 2000/day'
  const delivery = to('a.example', { tags: ['news'] })
  let total = 0
  for (let life = 0; life < 50; life++) total += begun(table(text), delivery, 0)
  expect(total).toBe(50)
})

test('every limit that means a delivery has to let it begin, and one that does not takes nothing from others', () => {
  const limits = table('tag news 2/minute\nsender *@example.org 5/day\nnexthop * 3/hour\n')
  const news = to('a.example', { tags: ['News'] })
  expect(begun(limits, news, 0)).toBe(1)
  expect(limits.take(to('b.example'), due, 0, 0)?.limit).toMatchObject({
    kind: 'sender',
    name: 'ada@example.org',
  })
  // The sender's next turn is in 4.8 h; a tag that may begin waits for it, and keeps its own.
  expect(begun(limits, news, 60_000)).toBe(0)
  expect(begun(limits, to('b.example', { sender: 'bob@example.net', tags: ['news'] }), 60_000)).toBe(1)
})

test('a delivery counts for each address that it may leave from', () => {
  const limits = table('source 192.0.2.* 2/hour\nsource 2001:DB8::1 5/hour')
  expect(begun(limits, to('a.example', { sources: ['192.0.2.1'] }), 0)).toBe(1)
  expect(begun(limits, to('b.example', { sources: ['192.0.2.1', '2001:db8::1'] }), 0)).toBe(0)
  expect(begun(limits, to('b.example', { sources: ['192.0.2.2', '2001:db8::1'] }), 0)).toBe(1)
  expect(limits.take(to('b.example', { sources: ['2001:db8::1'] }), due, 0, 0)?.limit).toMatchObject({
    kind: 'source',
    name: '2001:db8::1',
  })
  expect(begun(limits, to('c.example', { sources: ['198.51.100.1'] }), 0)).toBe(100)
  expect(begun(limits, to('c.example'), 0)).toBe(100)
})

test('of a kind the first line counts, and one name given twice counts once', () => {
  const limits = table('nexthop big.example 60/minute\nnexthop * 1/day\ntag * 10/second')
  expect(begun(limits, to('big.example'), hourMs)).toBe(6)
  expect(begun(limits, to('a.example', { tags: ['x', 'X'] }), hourMs)).toBe(1)
})

test('those that wait are told to come back one behind the other, and the urgent ones first', () => {
  const limits = table('nexthop * 10/second')
  begun(limits, to('a.example'), 0, 1)
  const waits = Array.from({ length: 50 }, () => waitMs(limits, to('a.example'), 0))
  expect(waits).toEqual(Array.from({ length: 50 }, (_, n) => 100 * (n + 1)))
  expect(waitMs(limits, to('a.example', { priority: 'high' }), 0)).toBe(100)
  expect(waitMs(limits, to('a.example', { priority: 'low' }), 0)).toBe(5100)
})

test('what comes before its turn keeps it, unless an earlier one is free or it can begin', () => {
  const limits = table('nexthop * 10/second')
  begun(limits, to('a.example'), 0, 1)
  const before = { kind: 'before', turnMs: 300 } as const
  for (let n = 1; n <= 3; n++) waitMs(limits, to('a.example'), 0)
  expect(limits.take(to('a.example'), before, 50, 0)?.waitMs).toBe(250)
  expect(waitMs(limits, to('a.example'), 50)).toBe(350)
  const others = table('nexthop * 10/second')
  begun(others, to('a.example'), 0, 1)
  expect(others.take(to('a.example'), before, 50, 0)?.waitMs).toBe(50)
  expect(waitMs(others, to('a.example'), 50)).toBe(150)
  expect(others.take(to('a.example'), before, 120, 0)).toBe(undefined)
})

test('what comes from a lane has its turn before the last that was given, and within half its wait', () => {
  const limits = table('nexthop * 10/second')
  begun(limits, to('a.example'), 0, 1)
  const early = { kind: 'early', withinMs: 8000 } as const
  const latest = (): number => limits.take(to('a.example'), early, 0, 1 - 1e-9)!.waitMs
  // Nothing is known of the turns of a life before.
  expect(latest()).toBe(6400)
  for (let n = 0; n < 20; n++) waitMs(limits, to('a.example'), 0)
  expect(latest()).toBe(2000)
  for (let n = 0; n < 200; n++) waitMs(limits, to('a.example'), 0)
  expect(latest()).toBe(6400)
})

test('mail that was told to wait and is deleted delays no other for long', () => {
  const limits = table('nexthop * 10/second')
  for (let n = 0; n < 1_000_000; n++) waitMs(limits, to('a.example'), 0)
  expect(begun(limits, to('a.example'), 20_000, 1)).toBe(1)
  expect(waitMs(limits, to('a.example'), 20_000)).toBe(100)
})

test('a reply slows its site, for longer while it is repeated, and no other', () => {
  const limits = new SendingLimits([], shapingIn('421 4.7.28 to 6/minute for 10m', 'shaping'), 0)
  const reply = '4.7.28 421 4.7.28 [192.0.2.1] Our system has detected an unusual rate'
  expect(limits.isOff).toBe(true)
  expect(limits.replied('smtp', 'a.example', '4.2.1 451 4.2.1 greylisted', 0)).toBe(undefined)
  expect(limits.replied('smtp', 'a.example', reply, 0)).toMatchObject({ isNew: true, untilMs: 600_000 })
  expect(limits.replied('smtp', 'A.example', reply, 60_000)).toMatchObject({ isNew: false, untilMs: 660_000 })
  expect(begun(limits, to('a.example'), 60_000)).toBe(1)
  expect(begun(limits, to('b.example'), 60_000)).toBe(100)
  expect(begun(limits, to('a.example'), 660_001)).toBe(100)
  expect(limits.isOff).toBe(true)
})

test.each([
  ['421 4.7.28 unusual rate of mail', true],
  ['450 4.7.1 Error: too much mail, RATE exceeded', true],
  ['451 4.7.0 Try again later, closing connection', true],
  ['452 4.5.3 Error: too many recipients, rate limited', true],
  ['450 4.2.0 greylisted, try again in 300 seconds', false],
  ['452 4.2.2 mailbox full', false],
  ['421 4.7.281 other', false],
  ['450 4.7.1 generated by the moderator', false],
  ['451 4.3.0 too busy, id 4210 4.7.0', false],
])('of the rules that serve has, %j is met by one: %s', (reply, isMet) => {
  const limits = new SendingLimits([], shapingIn(shapingDefault, 'shaping'), 0)
  const status = reply.split(' ')[1]!
  expect(limits.replied('smtp', 'a.example', `${status} ${reply}`, 0) !== undefined).toBe(isMet)
})

test('so many sites are slowed by operators, and one more when one of them is over', () => {
  const limits = new SendingLimits([], [], 0)
  const slow = (n: number, untilMs: number, nowMs: number): boolean =>
    limits.slow({ transport: '', nexthop: `${n}.example` }, { count: 1, perMs: 1000 }, untilMs, nowMs)
  for (let n = 0; n < orderedMax; n++) expect(slow(n, n === 5 ? 10 : 1000, 0)).toBe(true)
  expect(slow(orderedMax, 1000, 1)).toBe(false)
  expect(slow(7, 2000, 1)).toBe(true)
  expect(slow(orderedMax, 1000, 10)).toBe(true)
  expect([...limits.ordered(1000)].map(({ nexthop }) => nexthop)).toEqual(['7.example'])
})

test('memory is bounded, whatever names come, and a name that is in use keeps its count', () => {
  const limits = new SendingLimits(limitsIn('nexthop * 2/hour', 'limits', true), [], 0)
  for (let n = 0; n < 3 * bucketsMax; n++) limits.take(to(`${n}.example`), fresh, n, 0)
  expect(limits.bucketCount).toBeLessThanOrEqual(bucketsMax)
  expect(begun(limits, to(`${3 * bucketsMax - 1}.example`), 3 * bucketsMax)).toBe(0)
})

test('limits that are read again go on counting', () => {
  const text = 'nexthop a.example 2/hour\n'
  const before = new SendingLimits(limitsIn(text, 'limits', true), [], 0)
  expect(begun(before, to('a.example'), 0)).toBe(1)
  const after = new SendingLimits(limitsIn(`${text}tag x 1/day`, 'limits', true), [], 0, before)
  expect(begun(after, to('a.example'), 0)).toBe(0)
})

test('a line that was gone for a time begins with one again', () => {
  const lines = limitsIn('nexthop * 2000/day', 'limits', true)
  const first = new SendingLimits(lines, [], 0)
  expect(begun(first, to('a.example'), 0)).toBe(1)
  const none = new SendingLimits([], [], 1000, first)
  expect(begun(none, to('a.example'), 1000)).toBe(100)
  const again = new SendingLimits(lines, [], 6 * hourMs, none)
  expect(begun(again, to('a.example'), 6 * hourMs)).toBe(1)
  expect(begun(again, to('b.example'), 6 * hourMs)).toBe(1)
})

test('a count that changes to and fro each hour lets one more begin each time, not a tenth', () => {
  const lines = [2000, 1000].map((count) => limitsIn(`nexthop * ${count}/day`, 'limits', true))
  let limits = new SendingLimits(lines[0]!, [], 0)
  let total = 0
  for (let hour = 0; hour < 24; hour++) {
    limits = new SendingLimits(lines[hour % 2]!, [], hour * hourMs, limits)
    for (let nowMs = hour * hourMs; nowMs < (hour + 1) * hourMs; nowMs += 10_000)
      total += begun(limits, to('a.example'), nowMs)
  }
  expect(total).toBeGreaterThan(1300)
  expect(total).toBeLessThan(1500 + 24)
})

test('mail that waits for another limit is not in the way', () => {
  const limits = table('nexthop * 10/minute\ntag bulk 1/hour')
  const bulk = to('a.example', { tags: ['bulk'] })
  for (let n = 0; n < 10_000; n++) limits.take(bulk, fresh, 0, 0)
  expect(waitMs(limits, to('a.example'), 0)).toBe(6000)
})

test.each([
  ['nexthop a.example', /expected nexthop, tag, sender, source/],
  ['source 192.0.2.1 5/s', /a limit by source needs --source-address/],
  ['domain a.example 5/s', /expected nexthop, tag, sender, source/],
  ['tag x 5/fortnight', /no rate/],
  ['tag x 0/s', /no rate/],
  ['tag x 5/s more', /expected nexthop/],
  ['tag [x 5/s', /no pattern/],
])('the line %j of limits is refused, with its number', (line, reason) => {
  const read = (): unknown => limitsIn(`# one\n${line}`, 'limits', false)
  expect(read).toThrow(reason)
  expect(read).toThrow(expect.objectContaining({ place: { option: 'limits', path: 'limits', line: 2 } }))
})

test.each(['421 4.7.28 to 5/s', 'to 5/s for 1m', '421 to 5/s for 0s', '421 to 5 for 1m'])(
  'the line %j of shaping is refused',
  (line) => {
    expect(() => shapingIn(line, 'shaping')).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }))
  },
)
