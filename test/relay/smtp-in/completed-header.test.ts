import { expect, test } from 'vitest'
import {
  completed,
  completionBytesMax,
  domainsBytesMax,
  HeaderWait,
} from '../../../src/relay/smtp-in/completed-header.js'

const trace = 'Received: from x\r\n\tby y;\r\n'
const completion = { sender: 'ada@example.org', unique: 'u1', hostname: 'relay.example.org', atMs: 0 }
const of = (sent: string): string => {
  const whole = completed(Buffer.from(trace + sent, 'latin1'), trace.length, completion).toString('latin1')
  expect(whole.startsWith(trace)).toBe(true)
  return whole.slice(trace.length)
}
const date = 'Date: Thu, 01 Jan 1970 00:00:00 +0000\r\n'
const messageId = 'Message-ID: <u1@relay.example.org>\r\n'
const from = 'From: ada@example.org\r\n'
const all = 'Date: x\r\nmessage-id: <y>\r\nFROM: z@example.org\r\n'

test.each([
  ['Subject: x\r\n\r\nbody', `${date}${messageId}${from}Subject: x\r\n\r\nbody`],
  ['Date: x\r\n\r\n', `${messageId}${from}Date: x\r\n\r\n`],
  ['MESSAGE-ID: <x>\r\n\r\n', `${date}${from}MESSAGE-ID: <x>\r\n\r\n`],
  [`${all}\r\nBcc: kept, it is text\r\n`, `${all}\r\nBcc: kept, it is text\r\n`],
  [`${all}Bcc: a@b,\r\n\tc@d\r\nTo: e@f\r\nresent-bcc : g\r\n\r\n`, `${all}To: e@f\r\n\r\n`],
  [`${all}Bcc: a@b\rTo: e@f\n\nbody`, `${all}To: e@f\n\nbody`],
  [
    `${all}X: a\r\n \r\n b\r\nBcc: a@b,\r\n\t\r\n c@d\r\nTo: e@f\r\n\r\nbody`,
    `${all}X: a\r\n \r\n b\r\nTo: e@f\r\n\r\nbody`,
  ],
  [
    'Date: x\r\nmessage-id: <y>\r\nFrom: ada\r\nTo: grace@b.example,\r\n\tmary, Ann <ann>\r\nX-To: eve\r\n\r\nTo: text',
    'Date: x\r\nmessage-id: <y>\r\nFrom: ada@relay.example.org\r\nTo: grace@b.example,\r\n\tmary@relay.example.org, Ann <ann@relay.example.org>\r\nX-To: eve\r\n\r\nTo: text',
  ],
  [
    `${all}Bcc: ada\r\nCc: zo\xc3\xa0\r\nTo:\r\n\r\n`,
    `${all}Cc: zo\xc3\xa0@relay.example.org\r\nTo:\r\n\r\n`,
  ],
  [
    `${all}Errors-To: a\r\nMail-Followup-To: l@x, a\r\nResent-Reply-To: a\r\nMail-Reply-To: a\r\n\r\n`,
    `${all}Errors-To: a@relay.example.org\r\nMail-Followup-To: l@x, a@relay.example.org\r\nResent-Reply-To: a@relay.example.org\r\nMail-Reply-To: a\r\n\r\n`,
  ],
  // Text behind a CR alone is not the body.
  [
    `${all}Subject: x\ry\rz\r\nBcc: a@b\r\nTo: e@f\r\n\r\nb\rc`,
    `${all}Subject: x y z\r\nTo: e@f\r\n\r\nb\rc`,
  ],
  [`${all}Subject: x\r\rbody\rTo: e@f`, `${all}Subject: x\r\rbody\rTo: e@f`],
  [`${all}To: ada (\rx)\r\n\r\n`, `${all}To: ada@relay.example.org ( x)\r\n\r\n`],
  [`${all}To: list:;\r\n\r\n`, `${all}To: list:;\r\n\r\n`],
  ['just text\r\n', `${date}${messageId}${from}\r\njust text\r\n`],
  ['\r\nbody', `${date}${messageId}${from}\r\nbody`],
  ['', `${date}${messageId}${from}`],
  [`Return-Path: <x>\r\nContent-Length: 4\r\n${all}\r\n`, `${all}\r\n`],
  [
    `From a 2001\r\n>From b\n${all}\r\n`,
    `X-Mailbox-Line: From a 2001\r\nX-Mailbox-Line: >From b\n${all}\r\n`,
  ],
  [`From a\r\n goes on\r\n${all}\r\n`, `X-Mailbox-Line: From a\r\n goes on\r\n${all}\r\n`],
  ['From a\r\ntext\r\n', `${date}${messageId}${from}X-Mailbox-Line: From a\r\n\r\ntext\r\n`],
])('of %j it makes %j', (sent, expected) => {
  expect(of(sent)).toBe(expected)
})

test('what is added has a bound', () => {
  const host = 'h'.repeat(255)
  const lines = 'From x\r\n'.repeat(20)
  for (const sender of ['', 's'.repeat(512)]) {
    const whole = completed(Buffer.from(lines), 0, {
      sender,
      unique: 'u'.repeat(64),
      hostname: host,
      atMs: 0,
    })
    expect(whole.length - lines.length).toBeLessThanOrEqual(completionBytesMax)
  }
})

test('domains that are added have a bound: a field that is too long keeps its names', () => {
  const short = 'To: ada\r\n'
  const long = `Cc: ${'a,'.repeat(500_000)}b\r\n`
  const whole = completed(Buffer.from(`${all}${long}${short}\r\n`), 0, completion).toString()
  expect(whole).toBe(`${all}${long}To: ada@relay.example.org\r\n\r\n`)
  expect(domainsBytesMax).toBeGreaterThan(500 * '@relay.example.org'.length)
})

test('the null sender has an author', () => {
  const whole = completed(Buffer.from(`Date: x\r\n${messageId}\r\n`), 0, { ...completion, sender: '' })
  expect(whole.toString()).toMatch(/^From: MAILER-DAEMON@relay\.example\.org\r\nDate: x/)
})

const isWhole = (sent: string): boolean => new HeaderWait(0).isOver(sent.length, () => Buffer.from(sent))

test('a header that is whole is refused all the same when it is longer than 1 MiB', () => {
  const header = (bytes: number): string => `X: ${'x'.repeat(bytes - 5)}\r\n`
  expect(isWhole(`${header(1 << 20)}\r\nbody`)).toBe(true)
  expect(() => isWhole(`${header((1 << 20) + 1)}\r\nbody`)).toThrow('the header is longer than 1048576 bytes')
})

test.each([
  'A: b',
  'A: b\r\n',
  'A: b\r',
  'A: b\rc d\r\n',
  'A: b\r\nBc',
  'A: b\r\nBcc ',
  'A: b\r\n ',
  'A: b\r\n \r\n',
  'From a\r\n',
  'From a',
  'text',
  'x'.repeat(1000),
  `A: b\r\n${' '.repeat(1100)}`,
])('more header may follow %j', (sent) => {
  expect(isWhole(sent)).toBe(false)
})

test.each(['A: b\r\n\r', 'A: b\r\n\r\nB: c', 'two words', '\r\n'])('no header follows %j', (sent) => {
  expect(isWhole(sent)).toBe(true)
})

test('a header in pieces is looked at again when it has doubled, and refused beyond a mebibyte', () => {
  const wait = new HeaderWait(1000)
  const lookedAt: number[] = []
  const isOver = (bytes: number): boolean =>
    wait.isOver(bytes, () => {
      lookedAt.push(bytes)
      return Buffer.from('A: b\r\n')
    })
  for (let bytes = 1000; bytes <= 1 << 20; bytes++) isOver(bytes)
  expect(lookedAt).toHaveLength(11)
  expect(() => isOver((1 << 20) + 1)).toThrow('the header is longer than 1048576 bytes')
})

test('what is decided of a beginning stays so: the same header, however much of it has come', () => {
  const sent = `To: ${'u@example.net,\r\n '.repeat(40)}x\r\nBcc: b@c,\r\n${' '.repeat(1100)}hidden@c\r\nSubject: x\r\n\r\nBcc: text\r\n`
  const whole = of(sent)
  for (let bytes = 0; bytes < sent.length; bytes++) {
    const beginning = sent.slice(0, bytes)
    const pieces = isWhole(beginning) ? of(beginning) + sent.slice(bytes) : whole
    expect(pieces).toBe(whole)
  }
})

test('senders are shown as the world knows them, in fields of senders alone', () => {
  const shown = (address: string): string => address.replace(/@(?:h|relay\.example\.org)$/, '@example.com')
  const sent =
    'Date: x\r\nMessage-ID: <y@h>\r\nFrom: ada@h <ada@h>,\r\n\t"b@h" <b@h> (c@h)\r\nSender: root\r\n' +
    'Reply-To: g: z\xc3\xa0 <d@h>, e@h (e@h);, f@x\r\nErrors-To: <@h>\r\nDisposition-Notification-To: < g@h >\r\n' +
    'Mail-Followup-To: l@x, g@h\r\nTo: t@h\r\nX-From: u@h\r\n\r\nFrom: v@h\r\n'
  const whole = completed(Buffer.from(sent, 'latin1'), 0, { ...completion, shown }).toString('latin1')
  expect(whole).toBe(
    'Date: x\r\nMessage-ID: <y@h>\r\nFrom: ada@h <ada@example.com>,\r\n\t"b@h" <b@example.com> (c@h)\r\nSender: root@example.com\r\n' +
      'Reply-To: g: z\xc3\xa0 <d@example.com>, e@example.com (e@h);, f@x\r\nErrors-To: <@example.com>\r\n' +
      'Disposition-Notification-To: <g@example.com>\r\nMail-Followup-To: l@x, g@example.com\r\nTo: t@h\r\nX-From: u@h\r\n\r\nFrom: v@h\r\n',
  )
})

test('a field whose senders would take too much stays as it is', () => {
  const field = `From: ${Array.from({ length: 10 }, (_, i) => `u${i}@h`).join(', ')}\r\n`
  const shown = (address: string): string => `${address}.${'x'.repeat(domainsBytesMax / 9)}`
  const whole = completed(Buffer.from(`${field}Sender: a@h\r\n\r\n`), 0, { ...completion, shown }).toString()
  expect(whole).toContain(field)
  expect(whole).toMatch(/^Sender: a@h\.x+\r$/m)
})
