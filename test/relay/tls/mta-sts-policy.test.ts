import { expect, test } from 'vitest'
import { heldBytes } from '../../held-bytes.js'
import { processorMs } from '../../processor-time.js'
import { allowsMailHost, stsIdIn, stsPolicyIn } from '../../../src/relay/tls/mta-sts-policy.js'

test.each<[string, readonly (readonly string[])[], string | undefined]>([
  ['a record', [['v=STSv1; id=20160831085700Z;']], '20160831085700Z'],
  ['no semicolon at its end', [['v=STSv1;id=a']], 'a'],
  ['one in pieces', [['v=STS', 'v1; i', 'd=a1;']], 'a1'],
  ['blanks', [['v=STSv1 ;\tid=a1 ; ']], 'a1'],
  ['more fields', [['v=STSv1; x_y.z=1:2; id=a1; id=b2']], 'a1'],
  ['others beside it', [['v=spf1 -all'], ['v=STSv1; id=a1'], ['v=STSv10; id=x'], ['']], 'a1'],
  ['none', [], undefined],
  ['two', [['v=STSv1; id=a1'], ['v=STSv1; id=a1']], undefined],
  ['another version', [['v=STSv2; id=a1']], undefined],
  ['a version in small letters', [['v=stsv1; id=a1']], undefined],
  ['no id', [['v=STSv1;']], undefined],
  ['an empty id', [['v=STSv1; id=']], undefined],
  ['an id of 33 characters', [[`v=STSv1; id=${'a'.repeat(33)}`]], undefined],
  ['an id with a hyphen', [['v=STSv1; id=a-1']], undefined],
  ['a field without a value', [['v=STSv1; id=a1; x']], undefined],
  ['nothing between two semicolons', [['v=STSv1;; id=a1']], undefined],
])('the id in TXT records: %s', (_, records, id) => {
  expect(stsIdIn(records)).toBe(id)
})

const lines = (...texts: string[]): string => texts.join('\n')
const usual = ['version: STSv1', 'mode: enforce', 'mx: mx.example.net', 'max_age: 86400']
const policy = { mode: 'enforce', mx: ['mx.example.net'], maxAgeMs: 86_400_000 }

test.each<[string, string, object | undefined]>([
  ['a whole one', `${usual.join('\r\n')}\r\n`, policy],
  ['without an end of line', usual.join('\n'), policy],
  [
    'blanks and empty lines',
    ' \n\nversion:STSv1  \nmode:\tenforce\nmx:   mx.example.net\t\n max_age: 1',
    undefined,
  ],
  ['blanks behind colon and value', lines('version:STSv1 ', 'mode:\tenforce', '', ...usual.slice(2)), policy],
  ['in any order, with more fields', lines('x-y: z', ...usual.toReversed(), 'tls: 1.3'), policy],
  ['fields twice', lines(...usual, 'mode: none', 'max_age: 1', 'version: STSv2'), policy],
  [
    'several mail hosts',
    lines(...usual, 'mx: *.EXAMPLE.com', 'mx: mail', 'mx: a.example.'),
    { ...policy, mx: ['mx.example.net', '*.example.com', 'mail', 'a.example'] },
  ],
  [
    'none without mail hosts',
    lines('version: STSv1', 'mode: none', 'max_age: 0'),
    { mode: 'none', mx: [], maxAgeMs: 0 },
  ],
  ['testing', lines(...usual).replace('enforce', 'testing'), { ...policy, mode: 'testing' }],
  [
    'more than a year',
    lines(...usual).replace('86400', '9999999999'),
    { ...policy, maxAgeMs: 31_557_600_000 },
  ],
  ['nothing', '', undefined],
  ['a page', '<!doctype html>\n<p>mode: enforce', undefined],
  ['another version', lines(...usual).replace('STSv1', 'STSv2'), undefined],
  ['no version', lines(...usual.slice(1)), undefined],
  ['another mode', lines(...usual).replace('enforce', 'Enforce'), undefined],
  ['no mode', lines(...usual.toSpliced(1, 1)), undefined],
  ['no mail host', lines(...usual.toSpliced(2, 1)), undefined],
  ['no age', lines(...usual.toSpliced(3, 1)), undefined],
  ['an age before now', lines(...usual).replace('86400', '-1'), undefined],
  ['an age of eleven digits', lines(...usual).replace('86400', '10000000000'), undefined],
  ['a line without a colon', lines(...usual, 'mx mail.example.net'), undefined],
  ['a mail host that is none', lines(...usual, 'mx: mail example'), undefined],
  ['an empty mail host', lines(...usual, 'mx:'), undefined],
  ['a wildcard alone', lines(...usual, 'mx: *'), undefined],
  ['a wildcard without a domain', lines(...usual, 'mx: *.'), undefined],
  ['a wildcard in the middle', lines(...usual, 'mx: mx.*.example.net'), undefined],
  ['a part of a label', lines(...usual, 'mx: mx*.example.net'), undefined],
  ['a leading dot', lines(...usual, 'mx: .example.net'), undefined],
  ['an address', lines(...usual, 'mx: 192.0.2.1'), undefined],
])('a policy: %s', (_, text, read) => {
  expect(stsPolicyIn(text)).toEqual(read)
})

test('64 KiB of anything are read at once', () => {
  const tookMs = processorMs(() => {
    for (const text of [' ', ':', 'a:\t', 'mx:a\n', '\n', 'a', '*.', '\r'])
      stsPolicyIn(text.repeat((64 << 10) / text.length))
  })
  expect(tookMs).toBeLessThan(1000)
})

test.each([
  ['mx.example.net', true],
  ['a.example.com', true],
  ['example.com', false],
  ['a.b.example.com', false],
  ['.example.com', false],
  ['*.example.com', false],
  ['myexample.com', false],
  ['a.mx.example.net', false],
  ['example.net', false],
  ['mail', true],
  ['', false],
])('the mail host %s is one of the policy: %s', (host, isOne) => {
  const mx = ['mx.example.net', '*.example.com', 'mail']
  expect(allowsMailHost({ mode: 'enforce', mx, maxAgeMs: 1 }, host)).toBe(isOne)
})

test('of a record and a policy nothing stays in memory but what they say', () => {
  const bytes = heldBytes(() =>
    Array.from({ length: 100 }, (_, i) => {
      const record = Buffer.from(`v=STSv1; id=id0of1policy${i}; x=${'y'.repeat(60_000)}`)
      const text = Buffer.from(`${lines(...usual, `mx: mx${i}.of.example.net`)}\n${'x: y\n'.repeat(12_000)}`)
      const id = stsIdIn([[record.toString()]])
      const policy = stsPolicyIn(text.toString())
      expect([id, policy?.mx.length]).toEqual([`id0of1policy${i}`, 2])
      return { id, policy }
    }),
  )
  expect(bytes).toBeLessThan(100 * 10_000)
})
