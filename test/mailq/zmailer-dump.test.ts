/** ZMailer's MAILQ format: what is written, and what is read. */
import { expect, test } from 'vitest'
import type { ListedMessage } from '../../src/index.js'
import { dumpOf, readDump } from '../../src/mailq/zmailer-dump.js'
import { listedMessage } from '../control/fake-queue.js'

const route = (nexthop: string, transport = 'smtp'): { transport: string; nexthop: string } => ({
  transport,
  nexthop,
})

const two: readonly ListedMessage[] = [
  listedMessage('A', {
    routed: [
      { index: 0, route: route('one.example') },
      { index: 2, route: route('two.example') },
      { index: 3, route: route('two.example') },
    ],
    notes: [{ kind: 'deferred', status: '4.2.0', text: 'come again', ranges: [2, 3] }],
  }),
  listedMessage('B', { routed: [{ index: 0, route: route('one.example', 'maildir') }] }),
]

const dump = `version zmailer 1.0
Vertices:
1:\tA\t1; 0\t
2:\tA\t2; 2,3\t#4.2.0 come again
3:\tB\t1; 0\t
Channels:
smtp:\t>1>2
maildir:\t>3
Hosts:
one.example:\t>1>3
two.example:\t>2
`

test('a vertex is the part of a message that goes to one channel and host', () => {
  expect(dumpOf({ messages: two, isCut: false })).toBe(dump)
})

test('what is written is read', () => {
  expect(readDump(dump)).toEqual([
    { key: 1, file: 'A', offsets: [0], text: '', channel: 'smtp', host: 'one.example' },
    { key: 2, file: 'A', offsets: [2, 3], text: '4.2.0 come again', channel: 'smtp', host: 'two.example' },
    { key: 3, file: 'B', offsets: [0], text: '', channel: 'maildir', host: 'one.example' },
  ])
})

test('an empty queue has vertices and no groups', () => {
  const empty = 'version zmailer 1.0\nVertices:\n'
  expect(dumpOf({ messages: [], isCut: false })).toBe(empty)
  expect(readDump(empty)).toEqual([])
})

test('a dump that is cut says so in its last vertex', () => {
  const lines = dumpOf({ messages: two, isCut: true }).split('\n')
  expect(lines[3]).toBe('2:\tA\t2; 2,3\t#4.2.0 come again')
  expect(lines[4]).toBe('3:\tB\t1; 0\t#(more mail waits, and is not listed)')
})

test('no route, remote word or reply breaks a line or a word', () => {
  const hostile = listedMessage('C', {
    routed: [
      { index: 0, route: route('two words\nHosts:', 'a\tb') },
      { index: 1, route: undefined },
    ],
    notes: [{ kind: 'deferred', status: '4.0.0', text: 'x\nChannels:\n\u001b[2J', ranges: [0, 1] }],
  })
  expect(readDump(dumpOf({ messages: [hostile], isCut: false }))).toEqual([
    {
      key: 1,
      file: 'C',
      offsets: [0],
      text: '4.0.0 x?Channels:??[2J',
      channel: 'a?b',
      host: 'two?words?Hosts:',
    },
    { key: 2, file: 'C', offsets: [1], text: '4.0.0 x?Channels:??[2J', channel: '-', host: '-' },
  ])
})

test('the example of the manual is read', () => {
  const example = `version zmailer 1.0
Vertices:
311424:\t3714\t1; 116\t
311680:\t6472\t2; 151,331\t#128.100.8.4: Null read! (will retry)
312192:\t6347\t1; 152\t#128.89.0.93: connect: Connection timed out (will retry)
Channels:
smtp:\t>311424>311680>312192
Hosts:
scg.toronto.edu:\t>311424
mv04.ecf.toronto.edu:\t>311680
relay1.cs.net:\t>312192
`
  expect(readDump(example).map(({ file, offsets, channel, host }) => [file, offsets, channel, host])).toEqual(
    [
      ['3714', [116], 'smtp', 'scg.toronto.edu'],
      ['6472', [151, 331], 'smtp', 'mv04.ecf.toronto.edu'],
      ['6347', [152], 'smtp', 'relay1.cs.net'],
    ],
  )
})

test.each([
  ['', 'there is no MAILQ port'],
  ['220 mail.example.net ESMTP\r\n', 'there is no MAILQ port'],
  ['version zmailer 2.0\nVertices:\n', "it speaks 'version zmailer 2.0', and not 'version zmailer 1.0'"],
  ['version zmailer 1.0\n', 'it ends before its first section'],
  ['version zmailer 1.0\nVertices:\n1:\tA\t2; 0\t\n', 'a line is not of'],
  ['version zmailer 1.0\nVertices:\n1:\tA\n', 'a line is not of'],
  ['version zmailer 1.0\nVertices:\n1:\tA\t1; 0\t\nHosts:\nx:\t>7\n', 'a line is not of'],
])('%j is refused', (text, reason) => {
  expect(() => readDump(text)).toThrow(reason)
})
