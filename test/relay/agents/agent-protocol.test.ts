import { expect, test } from 'vitest'
import { isComment, readReport, requestHead } from '../../../src/relay/agents/agent-protocol.js'

const head = {
  id: '1M8B2PTZQHWVXDHK',
  attempts: 0,
  sender: 'ada@example.org',
  channel: 'uucp',
  nexthop: 'example.net',
  acceptedAt: 1_795_668_274_199,
  recipients: ['grace@example.net', '"a b"@example.net'],
  data: { bytes: 1234 },
  firstTag: 7,
}

test('a request is a line for each fact, and an empty one', () => {
  expect(requestHead(head)).toBe(`waybill 1
message 1M8B2PTZQHWVXDHK
attempt 1
sender ada@example.org
channel uucp
host example.net
accepted 1795668274199
size 1234
to 7 grace@example.net
to 8 "a b"@example.net

`)
  expect(requestHead({ ...head, data: { ref: 's3://x' } })).toContain('\nreference s3://x\n')
})

test.each([['nexthop'], ['sender'], ['channel']])('a line end in the %s is no second fact', (name) => {
  expect(requestHead({ ...head, [name]: 'x\nto 9 eve@example.org' })).toBeUndefined()
})

test.each([
  ['7 delivered', { kind: 'delivered', response: '' }],
  ['7 delivered 2.0.0 stored', { kind: 'delivered', response: '2.0.0 stored' }],
  ['7 deferred 4.2.2 full', { kind: 'deferred', status: '4.2.2', reason: 'full' }],
  ['7 failed', { kind: 'failed', status: '5.0.0', reason: 'the agent says no more than failed' }],
  ['7 failed 5.1.1', { kind: 'failed', status: '5.1.1', reason: 'the agent says no more than failed' }],
  ['7 failed 10.0.0.1 is down', { kind: 'failed', status: '5.0.0', reason: '10.0.0.1 is down' }],
])('%j is a report', (line, outcome) => {
  expect(readReport(line)).toEqual({ tag: 7, outcome })
})

test.each([
  ['x'],
  ['7'],
  ['7 ok'],
  ['7 delivered 5.0.0 x'],
  ['7 deferred 5.1.1 x'],
  ['-1 delivered'],
  ['7  delivered'],
])('%j is no report', (line) => expect(readReport(line)).toBeUndefined())

test('comments and empty lines are no reports', () => {
  expect(['# hungry', '', '7 delivered'].map(isComment)).toEqual([true, true, false])
})
