/** What is kept of what was said with servers: the ends of it, within a bound. */
import { expect, test } from 'vitest'
import {
  Conversations,
  conversationsMax,
  keptCharsMax,
  Transcript,
  type Conversation,
} from '../../src/delivery/conversation.js'

const conversation = (text: string, at = 0): Conversation => ({
  at,
  server: 'mx.example.net:25',
  lines: [{ by: 'server', text }],
  leftOutCount: 0,
})

test('of many lines the first and the last stay, and how many are missing is told', () => {
  const transcript = new Transcript()
  for (let n = 0; n < 1000; n++) transcript.add('server', `250 ${n}\r\n`)
  const { lines, leftOutCount } = transcript.take()
  expect(lines[0]).toEqual({ by: 'server', text: '250 0' })
  expect(lines.at(-1)).toEqual({ by: 'server', text: '250 999' })
  expect(lines.length + leftOutCount).toBe(1000)
  expect(lines.length).toBeLessThan(100)
  expect(transcript.take()).toEqual({ lines: [], leftOutCount: 0 })
})

test('a reply has the number of its command, with pipelining too', () => {
  const transcript = new Transcript()
  transcript.add('server', '220 mx')
  transcript.add('client', 'EHLO relay')
  transcript.add('server', '250 8BITMIME')
  transcript.add('client', 'AUTH …')
  transcript.isSecret = true
  transcript.add('server', '334 ')
  transcript.isSecret = false
  for (const command of ['MAIL', 'RCPT a', 'RCPT b', 'DATA']) transcript.add('client', command)
  for (const reply of ['250 sender', '250 a', '550 b', '354 go', '250 queued'])
    transcript.add('server', reply)
  const { lines } = transcript.take()
  const numbers = lines.filter(({ by }) => by === 'server').map(({ text, command }) => [text, command])
  expect(numbers).toEqual([
    ['220 mx', undefined],
    ['250 8BITMIME', 1],
    ['250 sender', 3],
    ['250 a', 4],
    ['550 b', 5],
    ['354 go', 6],
    ['250 queued', 6],
  ])
  transcript.add('client', 'RSET')
  expect(transcript.take().lines).toEqual([{ by: 'client', text: 'RSET', command: 1 }])
})

test('a long line is cut, and a secret leaves none', () => {
  const transcript = new Transcript()
  transcript.add('server', 'x'.repeat(100_000))
  transcript.isSecret = true
  transcript.add('client', 'c2VjcmV0')
  transcript.isSecret = false
  transcript.add('server', '\r\n')
  const { lines } = transcript.take()
  expect(lines).toHaveLength(1)
  expect(lines[0]!.text.length).toBeLessThan(2000)
})

test('the last conversations about a message are kept, and those of the latest messages', () => {
  const all = new Conversations()
  expect(all.of('a')).toEqual([])
  for (let at = 0; at < 10; at++) all.add('a', conversation('250 ok', at))
  expect(all.of('a').map(({ at }) => at)).toEqual([6, 7, 8, 9])
  expect(all.of('a')).toHaveLength(conversationsMax)
  const text = 'x'.repeat(10_000)
  const count = Math.ceil(keptCharsMax / text.length) + 10
  for (let n = 0; n < count; n++) all.add(`b${n}`, conversation(text))
  expect(all.of('a')).toEqual([])
  expect(all.of('b0')).toEqual([])
  expect(all.of(`b${count - 1}`)).toHaveLength(1)
  all.add('huge', conversation('y'.repeat(2 * keptCharsMax)))
  expect(all.of('huge')).toHaveLength(1)
})
