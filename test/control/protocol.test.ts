import { expect, test } from 'vitest'
import { LineSplitter } from '../../src/control/lines.js'
import {
  answerLine,
  readAnswer,
  readRequest,
  requestLine,
  type ControlRequest,
} from '../../src/control/protocol.js'
import { listedMessage } from './fake-queue.js'

test.each<ControlRequest>([
  { do: 'hold', selector: { sender: '', lane: 3, olderThan: 5 } },
  { do: 'delete', selector: { all: true } },
  { do: 'flush', selector: { nexthop: 'example.net' }, perSecond: 7 },
  { do: 'flush', selector: { lane: 'deferred' }, perSecond: Infinity },
  { do: 'reroute', selector: { lastStatus: '4.4' }, nexthop: '[192.0.2.1]:25', transport: undefined },
  { do: 'list', selector: {} },
  { do: 'resume', transport: 'out', name: 'example.net' },
  { do: 'suspend', transport: 'out', nexthop: 'example.net', forMs: 7_200_000 },
  { do: 'suspend', transport: undefined, nexthop: 'example.net', forMs: undefined },
  { do: 'unsuspend', transport: 'out', nexthop: undefined },
  { do: 'slow', nexthop: 'example.net', transport: undefined, count: 5, perMs: 60_000, forMs: 1 },
  { do: 'watch', intervalMs: 1000 },
  { do: 'destinations' },
  { do: 'reload' },
  { do: 'stop' },
])('%j is read as it was said', (request) => {
  expect(readRequest(requestLine(request))).toEqual(request)
})

test.each<[string, string]>([
  ['no JSON', 'hold everything'],
  ['no object', '[]'],
  ['no version', '{"do":"stop"}'],
  ['an unknown request', '{"waybill":1,"do":"explode"}'],
  ['a name of Object', '{"waybill":1,"do":"toString"}'],
  ['a verb without a selector', '{"waybill":1,"do":"hold"}'],
  ['a verb with an empty selector', '{"waybill":1,"do":"hold","selector":{}}'],
  ['an unknown member', '{"waybill":1,"do":"hold","selector":{"sendr":"a@b"}}'],
  ['an inherited member', '{"waybill":1,"do":"hold","selector":{"toString":"a@b"}}'],
  ['a member of a wrong type', '{"waybill":1,"do":"hold","selector":{"sender":7}}'],
  ['a negative age', '{"waybill":1,"do":"hold","selector":{"olderThan":-1}}'],
  ['all that is not true', '{"waybill":1,"do":"delete","selector":{"all":false}}'],
  ['a lane that is none', '{"waybill":1,"do":"hold","selector":{"lane":"fast"}}'],
  ['a lane that is no text', '{"waybill":1,"do":"hold","selector":{"lane":{"toString":1}}}'],
  ['a rate of nothing', '{"waybill":1,"do":"flush","selector":{"all":true},"perSecond":0}'],
  ['a rate that is no number', '{"waybill":1,"do":"flush","selector":{"all":true},"perSecond":"7"}'],
  ['a version before the first', '{"waybill":0,"do":"stop"}'],
  [
    'a transport that is no text',
    '{"waybill":1,"do":"reroute","selector":{"all":true},"nexthop":"x","transport":7}',
  ],
  ['a destination without a name', '{"waybill":1,"do":"resume","transport":"out"}'],
  ['a suspension of no name', '{"waybill":1,"do":"suspend","nexthop":""}'],
  ['a suspension for no time', '{"waybill":1,"do":"suspend","nexthop":"a","forMs":"2h"}'],
  ['a rate without a count', '{"waybill":1,"do":"slow","nexthop":"a","perMs":1000}'],
  ['a watch that sleeps for ever', '{"waybill":1,"do":"watch","intervalMs":60001}'],
  ['a reroute to nowhere', '{"waybill":1,"do":"reroute","selector":{"all":true},"nexthop":""}'],
  ['a watch without a pause', '{"waybill":1,"do":"watch","intervalMs":1}'],
])('a request with %s is refused', (_, line) => {
  expect(() => readRequest(line)).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }))
})

test('a listing without a selector is one of all', () => {
  expect(readRequest('{"waybill":1,"do":"list"}')).toEqual({ do: 'list', selector: {} })
})

test('a request of a later version is told so', () => {
  expect(() => readRequest('{"waybill":2,"do":"stop"}')).toThrow(
    expect.objectContaining({ code: 'FORMAT_NEWER' }),
  )
})

test('a message on hold is due at no time, on both sides of the line', () => {
  const message = listedMessage('0123456789ABCDEF', { where: 'hold', dueAt: Infinity })
  const line = answerLine({ kind: 'message', message })
  expect(line).toContain('"dueAt":null')
  expect(readAnswer(line)).toEqual({ kind: 'message', message })
})

test.each(['', '220 mx.example.net ESMTP', '{}', 'null', '{"kind":"toString"}'])(
  'the answer "%s" is not that of a relay',
  (line) => {
    expect(() => readAnswer(line)).toThrow(expect.objectContaining({ code: 'QUEUE_CRASHED' }))
  },
)

const linesOf = (splitter: LineSplitter, pieces: readonly string[]): string[] =>
  pieces.flatMap((piece) => [...splitter.take(Buffer.from(piece))])

test('lines come out whole however they are cut, letters of several bytes too', () => {
  const text = Buffer.from('one\nzwei ü\n\nthree')
  const splitter = new LineSplitter(100)
  const lines = Array.from(text, (_, at) => [...splitter.take(text.subarray(at, at + 1))]).flat()
  expect(lines).toEqual(['one', 'zwei ü', ''])
  expect(linesOf(splitter, ['\n'])).toEqual(['three'])
})

test('a line may be as long as its bound, and no longer', () => {
  expect(linesOf(new LineSplitter(4), ['ab', 'cd\nefgh\n'])).toEqual(['abcd', 'efgh'])
  expect(() => linesOf(new LineSplitter(4), ['ab', 'cde'])).toThrow(
    expect.objectContaining({ code: 'OPTION_INVALID' }),
  )
})
