import { expect, test } from 'vitest'
import { completed, completionBytesMax } from '../../../src/relay/smtp-in/completed-header.js'

const trace = 'Received: from x\r\n\tby y;\r\n'
const completion = { unique: 'u1', hostname: 'relay.example.org', atMs: 0 }
const of = (sent: string): string => {
  const whole = completed(Buffer.from(trace + sent, 'latin1'), trace.length, completion).toString('latin1')
  expect(whole.startsWith(trace)).toBe(true)
  return whole.slice(trace.length)
}
const date = 'Date: Thu, 01 Jan 1970 00:00:00 +0000\r\n'
const messageId = 'Message-ID: <u1@relay.example.org>\r\n'
const both = 'Date: x\r\nmessage-id: <y>\r\n'

test.each([
  ['Subject: x\r\n\r\nbody', `${date}${messageId}Subject: x\r\n\r\nbody`],
  ['Date: x\r\n\r\n', `${messageId}Date: x\r\n\r\n`],
  ['MESSAGE-ID: <x>\r\n\r\n', `${date}MESSAGE-ID: <x>\r\n\r\n`],
  [`${both}\r\nBcc: kept, it is text\r\n`, `${both}\r\nBcc: kept, it is text\r\n`],
  [`${both}Bcc: a@b,\r\n\tc@d\r\nTo: e@f\r\nresent-bcc : g\r\n\r\n`, `${both}To: e@f\r\n\r\n`],
  [`${both}Bcc: a@b\rTo: e@f\n\nbody`, `${both}To: e@f\n\nbody`],
  ['just text\r\n', `${date}${messageId}\r\njust text\r\n`],
  ['\r\nbody', `${date}${messageId}\r\nbody`],
  ['', `${date}${messageId}`],
])('of %j it makes %j', (sent, expected) => {
  expect(of(sent)).toBe(expected)
})

test('what is added has a bound', () => {
  const host = 'h'.repeat(255)
  const whole = completed(Buffer.from('\r\n'), 0, { ...completion, unique: 'u'.repeat(64), hostname: host })
  expect(whole.length - 2).toBeLessThanOrEqual(completionBytesMax)
})
