import { expect, test } from 'vitest'
import { messageOf, recipientsOf, unixLines } from '../../../tools/commands/sendmail/message.js'

const authorship = {
  sender: 'me@example.org',
  origin: 'o.example',
  hostname: 'host.example',
  unique: 'u1',
  now: new Date(1_763_000_000_000),
  name: undefined,
}
const complete = 'Date: now\r\nMessage-ID: <m@x>\r\nFrom: a@b\r\n'
const made = (lines: string, more = {}): string =>
  messageOf(lines, { ...authorship, ...more }).toString('latin1')

test('line feeds become CRLF, and the last line is ended', () => {
  expect(unixLines(Buffer.from('a\nb\r\nc'), false)).toBe('a\r\nb\r\nc\r\n')
})

test('CRs before a line feed are one line end with it, and NULs go', () => {
  expect(unixLines(Buffer.from('a\r\r\nb\r\r\r\n\r\r\nc\0d\n'), false)).toBe('a\r\nb\r\n\r\ncd\r\n')
})

test('a single dot ends the message, except with the option against it', () => {
  const input = Buffer.from('a\n..\n.b\n.\nrest\n')
  expect(unixLines(input, true)).toBe('a\r\n..\r\n.b\r\n')
  expect(unixLines(input, false)).toBe('a\r\n..\r\n.b\r\n.\r\nrest\r\n')
})

test('a complete message is not changed by a byte', () => {
  const lines = `${complete}Subject: \xe9\r\n\tfolded\r\n\r\n\x00\xff body: x\r\n`
  expect(made(lines)).toBe(lines)
})

test('Date, Message-ID and From are added when they are missing', () => {
  expect(made('Subject: x\r\n\r\nbody\r\n')).toBe(
    'Date: Thu, 13 Nov 2025 02:13:20 +0000\r\nMessage-ID: <u1@host.example>\r\nFrom: me@example.org\r\nSubject: x\r\n\r\nbody\r\n',
  )
})

test('the null sender is MAILER-DAEMON in From, and a name is quoted where it must be', () => {
  expect(made('\r\n', { sender: '' })).toContain('From: MAILER-DAEMON@o.example\r\n')
  expect(made('\r\n', { name: 'Doe, "J"' })).toContain('From: "Doe, \\"J\\"" <me@example.org>\r\n')
  expect(made('\r\n', { name: 'a\\"' })).toContain('From: "a\\\\\\"" <me@example.org>\r\n')
})

test('a body without a header keeps its first line', () => {
  expect(made('just text, not a field\r\n')).toMatch(/\r\n\r\njust text, not a field\r\n$/)
})

test('what only a mailbox may say is removed', () => {
  const only = 'Return-Path: <a@y>\r\nContent-Length: 3\r\n'
  expect(made(`${only}${complete}\r\nbody\r\n`)).toBe(`${complete}\r\nbody\r\n`)
})

test('Bcc is removed with its folded lines, and nothing else', () => {
  expect(made(`${complete}Bcc: x@y,\r\n z@y\r\nTo: t@y\r\n\r\nBcc: stays\r\n`)).toBe(
    `${complete}To: t@y\r\n\r\nBcc: stays\r\n`,
  )
})

test('recipients come from To, Cc and Bcc, with names, groups and folds', () => {
  const header =
    'To: "A, B" <a@x>, b@x\r\nCC: friends: c@x, D <d@x>;\r\nbcc:\r\n e@x\r\nReply-To: no@x\r\n\r\nTo: no@x\r\n'
  expect(recipientsOf(header, 'o.example')).toEqual(['a@x', 'b@x', 'c@x', 'd@x', 'e@x'])
})

test('no recipient is passed over for want of a comma, and none becomes another', () => {
  const header = 'To: a@x\r\n b@x, <c@x> <d@x>\r\nCc: p."q"@x, e@[IPv6:::1]\r\n\r\n'
  expect(recipientsOf(header, 'o.example')).toEqual(['a@x', 'b@x', 'c@x', 'd@x', 'p."q"@x', 'e@[IPv6:::1]'])
  expect(made(`${complete}${header}`)).toBe(`${complete}${header}`)
})

test('a resent message goes to its new recipients, not again to the old ones, and Resent-Bcc is removed', () => {
  const sentOn = 'Resent-To: new@x\r\nResent-Cc: copy@x\r\nResent-Bcc: secret@x\r\n'
  const header = 'To: old@x\r\nCc: older@x\r\n\r\n'
  expect(recipientsOf(`${sentOn}${header}`, 'o.example')).toEqual(['new@x', 'copy@x', 'secret@x'])
  expect(made(`${complete}${sentOn}${header}`)).toBe(
    `${complete}Resent-To: new@x\r\nResent-Cc: copy@x\r\n${header}`,
  )
})

test('recipients without a domain are at the origin, in the header too', () => {
  const header = 'To: root, Ops <ops>\r\nBcc: admin\r\n\r\n'
  expect(recipientsOf(header, 'o.example')).toEqual(['root@o.example', 'ops@o.example', 'admin@o.example'])
  expect(made(`${complete}${header}`)).toBe(`${complete}To: root@o.example, Ops <ops@o.example>\r\n\r\n`)
})

test('the line From of a mailbox, or of git, is none of the message', () => {
  const mailbox = 'From me@x Sat Nov 21 00:00:00 2026\nSubject: x\n\nFrom here on\n'
  expect(unixLines(Buffer.from(mailbox), false)).toBe('Subject: x\r\n\r\nFrom here on\r\n')
  expect(unixLines(Buffer.from('>From me@x\nFrom: a@b\n'), false)).toBe('From: a@b\r\n')
})

test('a CR that stands alone ends no line: no field, no header, no message', () => {
  const lines = 'Subject: x\ry\r\nBcc: secret@x,\r\n\tz@x\r\r\nTo: t@x\r\n\r\nbody\r\n'
  expect(recipientsOf(lines, 'o.example').map((recipient) => recipient.trim())).toEqual([
    'secret@x',
    'z@x',
    't@x',
  ])
  expect(made(`${complete}${lines}`)).toBe(`${complete}Subject: x y\r\nTo: t@x\r\n\r\nbody\r\n`)
  expect(unixLines(Buffer.from('a\r.\nrest\n'), true)).toBe('a\r.\r\nrest\r\n')
})

test('a line of 20 MB, and as many CRs, are read', () => {
  const long = 20 << 20
  expect(unixLines(Buffer.alloc(long, '\r'), true)).toHaveLength(long + 2)
  expect(unixLines(Buffer.from(`From ${'x'.repeat(long)}\nbody\n`), true)).toBe('body\r\n')
  const line = `X: ${'x'.repeat(long)}\r\n\r\n`
  expect(made(line).replaceAll('\r\n ', '')).toContain(line)
  expect(recipientsOf(`To: "${'x'.repeat(long)}" <a@b>\r\n\r\n`, 'o.example')).toEqual(['a@b'])
})
