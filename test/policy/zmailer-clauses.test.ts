import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  clauseCountMax,
  parseZmailerClauses,
  problemCountMax,
  readZmailerClauses,
} from '../../src/policy/zmailer-clauses.js'
import { refusal } from './refusal.js'

const only = (text: string): object => parseZmailerClauses(text)[0]?.settings ?? {}

test('a clause may stand on one line or spread over many, with comments and empty lines', () => {
  const spread = `
# comment in the first column
local/* interval=10s
        expiry=3h   # comment after a component

   # want 20 channel slots in case of blockage on one
        maxchannel=20
        command="mailbox -8"
`
  const compact = 'local/* interval=10s expiry=3h maxchannel=20 command="mailbox -8"'
  const settings = { intervalMs: 10_000, expiryMs: 10_800_000, maxchannel: 20, command: 'mailbox -8' }
  expect(only(spread)).toEqual(settings)
  expect(only(compact)).toEqual(settings)
  expect(parseZmailerClauses(spread)[0]?.line).toBe(3)
})

test('every variable and keyword of the language is kept as data', () => {
  expect(
    only(`*/* interval=1h5m20s idlemax=2m expiry=3d retries="1 1 2 3" maxta=250 maxchannel=0 maxring=20
      skew=1 user=root group=daemon ageorder overfeed=150 queueonly bychannel command=hold`),
  ).toEqual({
    intervalMs: 3_920_000,
    idlemaxMs: 120_000,
    expiryMs: 259_200_000,
    retries: [1, 1, 2, 3],
    maxta: 250,
    maxchannel: 0,
    maxring: 20,
    skew: 1,
    user: 'root',
    group: 'daemon',
    ageorder: true,
    overfeed: 150,
    queueonly: true,
    bychannel: true,
    command: 'hold',
  })
})

test('a pattern without a slash is a channel with any host', () => {
  const [clause] = parseZmailerClauses('error interval=5m')
  expect([clause?.channel.source, clause?.host.source]).toEqual(['error', '*'])
})

test('empty clauses get the contents of the next clause that has any', () => {
  const clauses = parseZmailerClauses('a/*\nb/*\n\nc/* maxring=2\n  command=x\nd/* maxring=3')
  expect(clauses.map(({ line }) => line)).toEqual([1, 2, 4, 6])
  expect(clauses.map(({ settings }) => settings.maxring)).toEqual([2, 2, 2, 3])
  expect(clauses.map(({ settings }) => settings.command)).toEqual(['x', 'x', 'x', undefined])
})

test('keywords ignore case, and blanks may stand around the equals sign', () => {
  expect(only('a Interval = 1m\n\tMAXTA= 5')).toEqual({ intervalMs: 60_000, maxta: 5 })
})

test('a quoted value may hold hashes, escaped quotes and a continued line', () => {
  expect(only('a command="x \\"y\\" # z \\\n w"\n user=u')).toEqual({ command: 'x "y" # z  w', user: 'u' })
})

test('lines may end in CR LF', () => {
  expect(only('a\r\n  interval=1m\r\n  command="x \\\r\ny"\r\n')).toEqual({
    intervalMs: 60_000,
    command: 'x y',
  })
})

test('a bare number is seconds', () => {
  expect(only('a interval=90')).toEqual({ intervalMs: 90_000 })
})

test('$channel in a command says bychannel', () => {
  expect(only('a command="sm -c $channel uucp"')).toEqual({ command: 'sm -c $channel uucp', bychannel: true })
})

test('every setting has the line where it stands', () => {
  const [first, second] = parseZmailerClauses('a/*\nb/* maxring=2 maxta=1\n\n  command="x \\\n y"\n  maxta=3')
  const lines = { maxring: 2, maxta: 6, command: 4 }
  expect([first?.lines, second?.lines]).toEqual([lines, lines])
  expect([first?.contentsLine, second?.contentsLine]).toEqual([2, 2])
})

test('a byte order mark is no part of the text', () => {
  expect(only('\uFEFFx/* maxta=1')).toEqual({ maxta: 1 })
  expect(readZmailerClauses('\uFEFF# comment\nx/* maxta=z').problems).toMatchObject([{ line: 2, column: 11 }])
})

test('a pattern may stand in quotes, with blanks, hashes and equals signs', () => {
  const [clause] = parseZmailerClauses('"smtp/a #=\\"b" maxta=1')
  expect([clause?.channel.source, clause?.host.source]).toEqual(['smtp', 'a #="b'])
  expect(parseZmailerClauses('"x/*" maxta=1')[0]?.channel.source).toBe('x')
})

test.each([
  ['', 1, 1, 'at least one clause'],
  ['# nothing\n\n', 1, 1, 'at least one clause'],
  ['  interval=1m', 1, 3, 'a pattern in the first column'],
  ['*/* maxta=1\ninterval=1m', 2, 1, 'assignments are indented'],
  ['a maxta=1\nb/*\nc/*\n', 2, 1, 'a clause with contents'],
  ['/x maxta=1', 1, 1, 'channel/host'],
  ['a/ maxta=1', 1, 1, 'channel/host'],
  ['"a maxta=1', 1, 1, 'its quotes closed'],
  ['a"b maxta=1', 1, 1, 'no quotes in a pattern'],
  ['a\n\n  maxhost=3', 3, 3, 'one of interval'],
  ['a\n interval=soon', 2, 11, 'a time of at least a second, like 1h5m20s for interval'],
  ['a interval=0', 1, 12, 'at least a second'],
  ['a interval=5000ms', 1, 12, 'a time of'],
  ['a interval=', 1, 12, 'a value after interval='],
  ['a interval', 1, 3, 'a time of'],
  ['a retries="1 x"', 1, 11, '1 to 100 numbers'],
  ['a retries=""', 1, 11, '1 to 100 numbers'],
  [`a retries="${'1 '.repeat(101)}"`, 1, 11, '1 to 100 numbers'],
  ['a maxta=-1', 1, 9, 'a whole number'],
  ['a skew=0', 1, 8, 'a whole number from 1'],
  ['a ageorder=yes', 1, 12, 'no value for ageorder'],
  ['a command=""', 1, 11, 'a command'],
  ['a command="x', 1, 11, 'quotes closed'],
  ['a\n command="x\ny"', 2, 10, 'quotes closed'],
  ['a command="x"y', 1, 14, 'white space after command'],
  ['a command="x \'y"', 1, 11, 'its quotes closed'],
  ['a maxta=1"2"', 1, 10, 'white space after maxta'],
  ['a user="a b"', 1, 8, 'the name of a user'],
  ['a =1', 1, 3, 'a variable or keyword'],
  ['a \u00A0maxta=1', 1, 3, 'a variable or keyword'],
  ['a/[x maxta=1', 1, 3, '] after ['],
  ['"a/b{c" maxta=1', 1, 5, '} after {'],
  ['a command="x \\\n y"\n maxta=z', 3, 8, 'a whole number'],
])('%j is refused at %d:%d: expected %s', (text, line, column, expected) => {
  const error = refusal(() => parseZmailerClauses(text))
  expect([error?.code, error?.place]).toEqual(['POLICY_INVALID', { line, column }])
  expect(error?.message).toContain(expected)
})

test('all that is wrong is reported, in the order of the text, and nothing twice', () => {
  const text = `*/* interval=soon maxta=x
smtp/[ maxring=2
  maxhost=3 expiry=1d
interval=1m
uucp/* maxchannel="5
  retries="1 1 z" ageorder=yes
b/*
`
  expect(readZmailerClauses(text).problems.map(({ line, column }) => [line, column])).toEqual([
    [1, 14],
    [1, 25],
    [2, 6],
    [3, 3],
    [4, 1],
    [5, 19],
    [6, 11],
    [6, 28],
    [7, 1],
  ])
  const error = refusal(() => parseZmailerClauses(text))
  expect(error?.message).toMatch(
    /^expected a time.*; line 1, column 25: expected a whole number.*; line 7, column 1:/,
  )
})

test('of a text that is no configuration no more problems are reported than a person reads', () => {
  const { problems } = readZmailerClauses('a\n' + ' =\n'.repeat(10_000))
  expect(problems).toHaveLength(problemCountMax)
})

test('a configuration has as many clauses and characters as are allowed, and no more', () => {
  const clauses = (count: number): string => 'a maxta=1\n'.repeat(count)
  expect(parseZmailerClauses(clauses(clauseCountMax))).toHaveLength(clauseCountMax)
  const oneMore = refusal(() => parseZmailerClauses(clauses(clauseCountMax + 1)))
  expect(oneMore?.place.line).toBe(clauseCountMax + 1)
  expect(oneMore?.message).toContain('at most 500 clauses')
  expect(refusal(() => parseZmailerClauses('a\n'.repeat(clauseCountMax + 1)))?.message).toContain(
    '500 clauses',
  )
  const long = `a maxta=1\n#${'x'.repeat((1 << 20) - 11)}`
  expect(parseZmailerClauses(long)).toHaveLength(1)
  expect(refusal(() => parseZmailerClauses(`${long}x`))?.message).toContain('at most 1048576 characters')
})

test('any text parses to at least one clause or is POLICY_INVALID with a line', () => {
  const pieces =
    '*/* smtp/*.fi local = " \\ # interval=1m retries="1 2" ageorder { [ / command=x maxta 5 \u0000'.split(
      ' ',
    )
  const piece = fc.constantFrom(...pieces, '\n', '\r\n', ' ', '\t')
  const text = fc.oneof(
    fc.string(),
    fc.array(piece, { maxLength: 20 }).map((written) => written.join('')),
  )
  fc.assert(
    fc.property(text, (source) => {
      let count = 0
      const error = refusal(() => (count = parseZmailerClauses(source).length))
      expect(error?.code).toBe(count > 0 ? undefined : 'POLICY_INVALID')
      const lines = source.replaceAll('\r\n', '\n').split('\n')
      for (const { line, column } of readZmailerClauses(source).problems)
        expect(column).toBeLessThanOrEqual((lines[line - 1]?.length ?? -1) + 1)
    }),
    { numRuns: 2000 },
  )
})
