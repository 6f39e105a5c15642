import { expect, test } from 'vitest'
import { reportOf, reportOfError, textCharsMax } from '../../src/delivery/outcome.js'
import { WaybillError } from '../../src/errors.js'
import { heldBytes } from '../held-bytes.js'

test('a sound outcome is handed on as it is, without a copy', () => {
  const outcome = { kind: 'failed', status: '5.1.1', reason: 'no such user' }
  expect(reportOf(outcome, 1).outcomes[0]).toBe(outcome)
})

test('one outcome for all stands for each recipient', () => {
  expect(reportOf({ kind: 'delivered', response: '250 ok' }, 3).outcomes).toHaveLength(3)
})

test('what a delivery says of where it went is kept, unless nobody knows the word', () => {
  const outcomeOf = (relayed: unknown): unknown => reportOf({ kind: 'delivered', relayed }, 1).outcomes[0]
  expect(outcomeOf('with-dsn')).toEqual({ kind: 'delivered', relayed: 'with-dsn' })
  expect(outcomeOf('without-dsn')).toEqual({ kind: 'delivered', relayed: 'without-dsn' })
  expect(outcomeOf('elsewhere')).toEqual({ kind: 'delivered' })
  const said = { kind: 'delivered', response: '250\r\nok', relayed: 'with-dsn' }
  expect(reportOf(said, 1).outcomes).toEqual([{ ...said, response: '250 ok' }])
})

test('outcomes keep the order of the recipients', () => {
  const kinds = reportOf(
    [{ kind: 'delivered' }, { kind: 'failed', status: '5.1.1', reason: 'x' }],
    2,
  ).outcomes
  expect(kinds.map(({ kind }) => kind)).toEqual(['delivered', 'failed'])
})

test.each([
  ['nothing', undefined],
  ['null', null],
  ['a word', 'ok'],
  ['an unknown kind', { kind: 'sent' }],
  ['too few outcomes', [{ kind: 'delivered' }]],
  ['an array with a hole', [{ kind: 'delivered' }, undefined]],
])('%s defers instead of losing, and is a defect', (_name, answer) => {
  const report = reportOf(answer, 2)
  expect(report.outcomes).toHaveLength(2)
  expect(report.outcomes.some(({ kind }) => kind === 'failed')).toBe(false)
  expect(report.outcomes[1]).toMatchObject({ kind: 'deferred', status: '4.3.0' })
  expect(report.defect).toBeInstanceOf(Error)
})

test('a hole in an array leaves the other outcomes alone', () => {
  expect(reportOf([{ kind: 'delivered' }, 7], 2).outcomes[0]).toEqual({ kind: 'delivered' })
})

test('trouble of the site defers everybody for its reason', () => {
  const report = reportOf({ kind: 'site', status: '4.4.1', reason: 'no route' }, 2)
  expect(report.outcomes).toEqual([
    { kind: 'deferred', status: '4.4.1', reason: 'no route' },
    { kind: 'deferred', status: '4.4.1', reason: 'no route' },
  ])
  expect(report.site?.reason).toBe('no route')
})

test.each([
  ['deferred', '5.1.1', '4.1.1'],
  ['failed', '4.1.1', '5.1.1'],
  ['deferred', 'later', '4.3.0'],
  ['failed', '5.1', '5.3.0'],
  ['failed', undefined, '5.3.0'],
])('a %s outcome with status %s has status %s', (kind, status, expected) => {
  expect(reportOf({ kind, status, reason: 'r' }, 1).outcomes[0]).toEqual({
    kind,
    status: expected,
    reason: 'r',
  })
})

test('texts are cut and have no control characters', () => {
  const [outcome] = reportOf({ kind: 'delivered', response: `250-a\r\n250 b${'x'.repeat(1000)}` }, 1).outcomes
  const text = outcome?.kind === 'delivered' ? (outcome.response ?? '') : ''
  expect(text.startsWith('250-a 250 bx')).toBe(true)
  expect(text.length).toBeLessThanOrEqual(textCharsMax)
})

test('a cut does not halve a character', () => {
  const [outcome] = reportOf({ kind: 'delivered', response: `${'x'.repeat(499)}😀y` }, 1).outcomes
  expect(outcome).toEqual({ kind: 'delivered', response: 'x'.repeat(499) })
})

test('a reason that is an error, a number or a circle becomes text', () => {
  const circle: unknown[] = []
  circle.push(circle)
  for (const reason of [new Error('boom'), 7, circle, undefined]) {
    const [outcome] = reportOf({ kind: 'failed', status: '5.0.0', reason }, 1).outcomes
    expect(typeof (outcome?.kind === 'failed' && outcome.reason)).toBe('string')
  }
})

test('corrupt data is named as a defect, not as trouble of the site; a report shows no place of ours', () => {
  const report = reportOfError(new WaybillError('DATA_CORRUPT', 'checksum', { path: 'spool/1.mail' }), 1)
  expect(report.site).toBeUndefined()
  expect(report.outcomes).toEqual([
    { kind: 'deferred', status: '4.3.0', reason: 'the attempt met an error of the queue: DATA_CORRUPT' },
  ])
  expect(report.defect).toMatchObject({ code: 'DATA_CORRUPT' })
})

test('fetch without a network is trouble of the site although it throws a TypeError', () => {
  const cause = Object.assign(new Error('getaddrinfo'), { code: 'ENOTFOUND' })
  expect(reportOfError(new TypeError('fetch failed', { cause }), 1).site?.kind).toBe('site')
})

test.each([TypeError, RangeError, ReferenceError])('a %o is a mistake in the transport', (Mistake) => {
  const report = reportOfError(new Mistake('x'), 1)
  expect(report).toMatchObject({ site: undefined, defect: { message: 'x' } })
  expect(report.outcomes).toMatchObject([{ kind: 'deferred', status: '4.3.0' }])
})

test('a typing mistake whose stack is no text is named without its place', () => {
  const error = Object.assign(new TypeError('x is undefined'), { stack: [] })
  expect(reportOfError(error, 1).outcomes[0]).toMatchObject({
    reason: 'the transport is defective: TypeError: x is undefined',
  })
})

test('a thrown word is trouble of the site with that word', () => {
  expect(reportOfError('down', 1).site?.reason).toBe('down')
})

const unreadable = (Kind: typeof Error, members: PropertyDescriptorMap): Error =>
  Object.defineProperties(new Kind('x'), members)
const refuses = (): never => {
  throw new Error('no')
}

test.each([
  ['a stack that is no text', unreadable(TypeError, { stack: { value: [] } })],
  ['a message that is no text', unreadable(TypeError, { message: { value: Symbol('m') } })],
  ['a name that is no text', unreadable(RangeError, { name: { value: Symbol('n') } })],
  ['a message that throws', unreadable(Error, { message: { get: refuses } })],
  ['a prototype that throws', new Proxy({}, { getPrototypeOf: refuses })],
  ['no prototype', Object.create(null)],
])('what was thrown with %s defers like anything else', (_name, thrown: unknown) => {
  const report = reportOfError(thrown, 2)
  expect(report.outcomes).toHaveLength(2)
  for (const { kind } of report.outcomes) expect(kind).toBe('deferred')
  expect(typeof report.defect?.message).not.toBe('symbol')
})

/** As it comes out of a socket. */
const received = (text: string): string => Buffer.from(text).toString()
const filler = 'y'.repeat(60_000)

test.each([
  ['is too long', (i: number) => received(`450 4.7.1 not now, ${i} ${filler}`)],
  ['has too many lines', (i: number) => received(`450-4.7.1 not now, ${i}\n${filler}`)],
  ['is a piece of a longer one', (i: number) => received(`450 4.7.1 not now, ${i} ${filler}`).slice(0, 20)],
])('of a text of a site that %s nothing stays in memory but what is told', (_, text) => {
  const bytes = heldBytes(() =>
    Array.from({ length: 100 }, (_, i) => reportOf({ kind: 'site', status: '4.7.1', reason: text(i) }, 1)),
  )
  expect(bytes).toBeLessThan(100 * 10_000)
})

test('a text that was cut is what it began with, half a character too', () => {
  const reason = `\ud800${'y'.repeat(textCharsMax)}`
  expect(reportOf({ kind: 'failed', status: '5.0.0', reason }, 1).outcomes[0]).toMatchObject({
    reason: reason.slice(0, textCharsMax),
  })
})
