import { readFileSync } from 'node:fs'
import addressparser from 'nodemailer/lib/addressparser'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { composeReport, listedRecipientsMax } from '../../src/bounce/report.js'
import { isAscii } from '../../src/bounce/safe-text.js'
import { isMailAddress } from '../../src/base/mail-address.js'
import type { ReportedRecipient, ReportInput } from '../../src/bounce/report-input.js'
import { reportNames } from '../../src/sim/model/model-reports.js'
import { field, fieldGroups, parseMail, type Entity } from './parse-mail.js'

const original = Buffer.from(
  'Received: from a by b; Sat, 21 Nov 2026 10:00:00 +0000\r\nFrom: Ann <ann@example.org>\r\nTo: bob@example.net\r\n' +
    'Subject: hello\r\n and more\r\n\r\nbody that is nobody else\u2019s business\r\n',
)
const bob: ReportedRecipient = {
  address: 'bob@example.net',
  action: 'failed',
  status: '5.1.1',
  reason: '550 5.1.1 <bob@example.net>: Recipient address rejected: User unknown in virtual mailbox table',
  remote: 'mx1.example.net',
}
const late: ReportedRecipient = {
  address: 'carol@example.com',
  action: 'delayed',
  status: '4.4.1',
  reason: 'connect to mx.example.com: connection timed out',
}
const input = (changes: Partial<ReportInput> = {}): ReportInput => ({
  id: '4GHx1.b1',
  originalId: '4GHx1',
  originalSender: 'ann@example.org',
  recipients: [bob],
  acceptedAtMs: Date.UTC(2026, 10, 21, 10),
  nowMs: Date.UTC(2026, 10, 21, 10, 5),
  reportingMta: 'relay.example.org',
  data: original,
  dataBytes: original.length,
  smtputf8: false,
  ...changes,
})
const compose = async (changes: Partial<ReportInput> = {}): Promise<Entity> =>
  parseMail(await composeReport(input(changes)))
const bodyOf = (entity: Entity, part: number): string => entity.parts[part]?.body.toString() ?? ''
const statusOf = (entity: Entity): Record<string, string>[] =>
  fieldGroups(entity.parts[1]?.body ?? Buffer.alloc(0))
const typesOf = (entity: Entity): (string | undefined)[] =>
  entity.parts.map((part) => field(part, 'content-type')?.split(';')[0])

const goldens: [string, Partial<ReportInput>][] = [
  ['failed', {}],
  [
    'delayed',
    { recipients: [late], giveUpAtMs: Date.UTC(2026, 10, 26, 10), nowMs: Date.UTC(2026, 10, 21, 14) },
  ],
  [
    'global',
    {
      originalSender: 'jos\u00e9@ejemplo.example',
      recipients: [
        { ...bob, address: '\u4f60\u597d@\u4f8b\u3048.example', reason: '550 5.1.1 \u4e0d\u5b58\u5728' },
      ],
      data: Buffer.from('From: jos\u00e9@ejemplo.example\r\nSubject: \u4f60\u597d\r\n\r\n'),
      smtputf8: true,
    },
  ],
  ['reference', { data: undefined, dataBytes: 0, recipients: [bob, late] }],
]

test.each(goldens)('the report %s is the one that was looked at and kept', async (name, changes) => {
  const report = await composeReport(input(changes))
  parseMail(report)
  const kept = readFileSync(new URL(`golden/${name}.eml`, import.meta.url), 'utf8')
  expect(report.toString().replaceAll('\r\n', '\n')).toBe(kept)
})

test('the author is who is named, and MAILER-DAEMON otherwise', async () => {
  const from = async (changes: Partial<ReportInput>): Promise<string | undefined> =>
    field(await compose(changes), 'from')
  expect(await from({})).toBe('Mail Delivery System <MAILER-DAEMON@relay.example.org>')
  expect(await from({ author: 'ops@example.org' })).toBe('Mail Delivery System <ops@example.org>')
})

test('the same input gives the same bytes, and another input another boundary', async () => {
  const again = await composeReport(structuredCloneOf(input()))
  expect(again.equals(await composeReport(input()))).toBe(true)
  const boundary = (entity: Entity): string | undefined => field(entity, 'content-type')
  expect(boundary(await compose())).not.toBe(boundary(await compose({ recipients: [late] })))
})

test('a report is a multipart/report with text, status and the header of the original', async () => {
  const report = await compose()
  expect(field(report, 'content-type')).toMatch(/^multipart\/report; report-type=delivery-status; boundary=/)
  expect(typesOf(report)).toEqual(['text/plain', 'message/delivery-status', 'text/rfc822-headers'])
  expect(bodyOf(report, 2)).toBe(original.toString().split('\r\n\r\n')[0] + '\r\n')
  expect(addressparser(field(report, 'to'))).toEqual([{ name: '', address: 'ann@example.org' }])
  expect(addressparser(field(report, 'from'))).toEqual([
    { name: 'Mail Delivery System', address: 'MAILER-DAEMON@relay.example.org' },
  ])
  expect(Object.fromEntries(report.fields)).toMatchObject({
    date: 'Sat, 21 Nov 2026 10:05:00 +0000',
    subject: 'Undelivered Mail Returned to Sender',
    'message-id': '<4GHx1.b1@relay.example.org>',
    'auto-submitted': 'auto-replied',
    'mime-version': '1.0',
  })
})

test('the status part names the message and each recipient', async () => {
  expect(statusOf(await compose({ recipients: [bob, late], giveUpAtMs: Date.UTC(2026, 10, 26) }))).toEqual([
    {
      'reporting-mta': 'dns; relay.example.org',
      'x-waybill-queue-id': '4GHx1',
      'x-waybill-sender': 'rfc822; ann@example.org',
      'arrival-date': 'Sat, 21 Nov 2026 10:00:00 +0000',
    },
    {
      'final-recipient': 'rfc822; bob@example.net',
      action: 'failed',
      status: '5.1.1',
      'remote-mta': 'dns; mx1.example.net',
      'diagnostic-code': `smtp; ${bob.reason}`,
    },
    {
      'final-recipient': 'rfc822; carol@example.com',
      action: 'delayed',
      status: '4.4.1',
      'diagnostic-code': `x-waybill; ${late.reason}`,
      'will-retry-until': 'Thu, 26 Nov 2026 00:00:00 +0000',
    },
  ])
})

test('a report of delays only says that the mail is still being retried', async () => {
  const report = await compose({ recipients: [late] })
  expect(field(report, 'subject')).toBe('Delayed Mail (still being retried)')
  expect(bodyOf(report, 0)).toContain('You need not send it again')
  expect(bodyOf(report, 0)).not.toContain('could not be delivered')
})

test('the body of the original is not returned', async () => {
  expect((await composeReport(input())).toString()).not.toContain('business')
})

test('data that only the embedder can read is reported without a header part', async () => {
  const report = await compose({ data: undefined })
  expect(report.parts).toHaveLength(2)
  expect(bodyOf(report, 0)).not.toContain('header')
})

test('data that only the embedder can read is not given back, though all of it was asked for', async () => {
  const report = await compose({ data: undefined, dataBytes: 0, returnsFull: true })
  expect(typesOf(report)).toEqual(['text/plain', 'message/delivery-status'])
})

test('the text for people has each recipient under what became of it', async () => {
  const to = (action: ReportedRecipient['action']): ReportedRecipient => ({
    ...bob,
    action,
    address: `${action}@x`,
  })
  const recipients = (['relayed', 'failed', 'delivered', 'delayed'] as const).map(to)
  expect(bodyOf(await compose({ recipients }), 0).replaceAll('\r\n', ' ')).toMatch(
    /could not be delivered .*<failed@x>.* is late .*<delayed@x>.* was delivered .*<delivered@x>.* was handed on .*<relayed@x>/,
  )
})

test('a remote reply cannot add a field, a recipient, a part or a line of its own', async () => {
  const boundary = /boundary="?([^";]+)/.exec(field(await compose(), 'content-type') ?? '')?.[1]
  const reason = `550 no\r\nFinal-Recipient: rfc822; eve@example.org\r\n\r\n--${boundary}\r\nBcc: x\n\u2028<eve@example.org>: hi\u202e\0`
  const report = await compose({ recipients: [{ ...bob, reason, remote: 'mx\r\nX-Evil: 1' }, late] })
  expect(typesOf(report)).toEqual(['text/plain', 'message/delivery-status', 'text/rfc822-headers'])
  const [, failed, delayed, ...more] = statusOf(report)
  expect(more).toEqual([])
  expect(failed?.['final-recipient']).toBe('rfc822; bob@example.net')
  expect(delayed?.['final-recipient']).toBe('rfc822; carol@example.com')
  expect(Object.keys(failed ?? {})).not.toContain('x-evil')
  expect(bodyOf(report, 0)).not.toMatch(/^(<eve|Bcc|Final-Recipient|X-Evil)/m)
  expect(bodyOf(report, 0)).not.toMatch(/[\u2028\u202e\0]/u)
})

test('an original header cannot end its part', async () => {
  const boundary = /boundary="?([^";]+)/.exec(field(await compose(), 'content-type') ?? '')?.[1]
  const data = Buffer.from(
    `Subject: x\r\n --${boundary}--\r\nX-A: \0\x07b\r\n--${boundary}--\r\nX-B: c\r\n\r\n`,
  )
  const report = await compose({ data, dataBytes: data.length })
  expect(report.parts).toHaveLength(3)
  expect(bodyOf(report, 2)).toBe(`Subject: x\r\n --${boundary}--\r\nX-A: b\r\n`)
})

test('an address cannot add a field or a recipient', async () => {
  const address = 'bob@example.net\r\nAction: delivered\r\n\r\nFinal-Recipient: rfc822; eve'
  const groups = statusOf(await compose({ recipients: [{ ...bob, address }] }))
  expect(groups).toHaveLength(2)
  expect(groups[1]?.['action']).toBe('failed')
})

test('an id from outside stays inside the Message-ID', async () => {
  const report = await compose({ id: 'a> b\r\nX: y@z', originalId: 'c\r\nX-Evil: d' })
  expect(field(report, 'message-id')).toBe('<a--b--X--y-z@relay.example.org>')
  expect(statusOf(report)[0]?.['x-waybill-queue-id']).toBe('c X-Evil: d')
})

test('8 bit octets of an original header come back as they were', async () => {
  const data = Buffer.from('Subject: \xe9t\xe9\r\nX: y\r\n\r\nbody', 'latin1')
  for (const smtputf8 of [false, true]) {
    const report = await compose({ data, dataBytes: data.length, smtputf8 })
    expect(field(report.parts[2] ?? report, 'content-type')).toBe('text/rfc822-headers')
    expect(report.parts[2]?.body).toEqual(Buffer.from('Subject: \xe9t\xe9\r\nX: y\r\n', 'latin1'))
  }
})

test('addresses and text outside ASCII are global parts, with SMTPUTF8 only', async () => {
  const recipients = [{ ...bob, address: 'j\u00f6rg+x@example.net', reason: '550 gr\u00fc\u00dfe' }]
  const data = Buffer.from('Subject: gr\u00fc\u00dfe\r\n\r\n')
  const global = await compose({ recipients, data, dataBytes: data.length, smtputf8: true })
  expect(typesOf(global)).toEqual(['text/plain', 'message/global-delivery-status', 'message/global-headers'])
  expect(statusOf(global)[1]).toMatchObject({
    'final-recipient': 'utf-8; j\u00f6rg+x@example.net',
    'diagnostic-code': 'smtp; 550 gr\u00fc\u00dfe',
  })
  expect(bodyOf(global, 2)).toBe('Subject: gr\u00fc\u00dfe\r\n')

  const plain = await compose({ recipients, data, dataBytes: data.length })
  expect(typesOf(plain)).toEqual(['text/plain', 'message/delivery-status', 'text/rfc822-headers'])
  expect(statusOf(plain)[1]).toMatchObject({
    'final-recipient': 'utf-8; j\\x{F6}rg\\x{2B}x@example.net',
    'diagnostic-code': 'smtp; 550 gr??e',
  })
  expect(bodyOf(plain, 0)).toContain('gr\u00fc\u00dfe')
})

test.each([
  ['gr\u00fc\u00dfe', true, 'message/global'],
  ['gr\u00fc\u00dfe', false, 'message/rfc822'],
  ['greetings', true, 'message/rfc822'],
])('a whole message with %s in its header, SMTPUTF8 %s, comes back as %s', async (word, smtputf8, type) => {
  const data = Buffer.from(`Subject: ${word}\r\n\r\nbody\r\n`)
  const report = (
    await composeReport(input({ data, dataBytes: data.length, smtputf8, returnsFull: true }))
  ).toString()
  const [header, body] = report
    .split(/\r\n--[^]*?\r\n/)
    .at(-2)!
    .split(/\r\n\r\n([^]*)/)
  expect(header).toContain(`Content-Type: ${type}\r\n`)
  // What is not 7 bit is said of the whole and of the part, RFC 2045 §6.4.
  for (const one of [report.slice(0, report.indexOf('\r\n\r\n')), header])
    expect(/^Content-Transfer-Encoding: 8bit\r?$/m.test(one!)).toBe(!isAscii(word))
  expect(body).toBe(data.toString())
})

test('a whole message comes back with CR LF wherever a line of it ended', async () => {
  const data = Buffer.from('Subject: a\r\n\r\none\rtwo\nthree\r\n\rfour')
  const report = await composeReport(input({ data, dataBytes: data.length, returnsFull: true }))
  expect(report.toString()).toContain('Subject: a\r\n\r\none\r\ntwo\r\nthree\r\n\r\nfour\r\n')
})

test.each([
  [50_000, 'message/rfc822'],
  [50_001, 'text/rfc822-headers'],
])('of a message of %d bytes %s comes back', async (dataBytes, type) => {
  const data = Buffer.from('Subject: a\r\n\r\n'.padEnd(dataBytes, 'long line\r\n'))
  const report = await composeReport(input({ data, dataBytes, returnsFull: true }))
  expect(report.toString()).toContain(`Content-Type: ${type}\r\n`)
})

test('of a message of which only the beginning is there the header comes back', async () => {
  const report = await compose({ dataBytes: original.length + 1, returnsFull: true })
  expect(typesOf(report).at(-1)).toBe('text/rfc822-headers')
})

test('what was asked with a message is one field of a report as it was given, blanks and all, and ASCII', async () => {
  const asked = (envid: string, orcpt: string): Promise<Entity> =>
    compose({ envid, recipients: [{ ...bob, orcpt }], smtputf8: true })
  const fieldsOf = (report: Entity): unknown[] => {
    const [ofMessage, ofRecipient] = statusOf(report)
    return [ofMessage?.['original-envelope-id'], ofRecipient?.['original-recipient']]
  }
  expect(fieldsOf(await asked('a  b', 'rfc822;bob  b@x'))).toEqual(['a  b', 'rfc822;bob  b@x'])
  const strange = await asked('a\r\nX: y', 'rfc822;\u00fc@x')
  expect(typesOf(strange)[1]).toBe('message/delivery-status')
  expect(fieldsOf(strange)).toEqual(['a??X: y', 'rfc822;?@x'])
})

test('with SMTPUTF8 too, what is ASCII stays as every reader knows it', async () => {
  expect(typesOf(await compose({ smtputf8: true, data: Buffer.from('A: b\r\n\r\n') }))).toEqual([
    'text/plain',
    'message/delivery-status',
    'text/rfc822-headers',
  ])
})

test('a report is 7 bit unless its own recipient is not', async () => {
  const recipients = [{ ...bob, address: 'j\u00f6rg@example.net', reason: '\u2603' }]
  const ascii = await composeReport(input({ recipients, smtputf8: true }))
  expect(/^\p{ASCII}*$/u.test(ascii.toString())).toBe(true)
  const utf8 = await composeReport(
    input({ recipients, smtputf8: true, originalSender: 'jos\u00e9@example.org' }),
  )
  const strange = utf8
    .toString()
    .split('\r\n')
    .filter((line) => !/^\p{ASCII}*$/u.test(line))
  expect(strange).toEqual(['To: jos\u00e9@example.org'])
})

test('a report names at most 1000 recipients and counts the rest', async () => {
  const recipients = Array.from({ length: listedRecipientsMax + 7 }, (_, i) => ({
    ...bob,
    address: `r${i}@example.net`,
  }))
  const report = await compose({ recipients })
  expect(statusOf(report)).toHaveLength(1 + listedRecipientsMax)
  expect(bodyOf(report, 0)).toContain('7 more recipients are not listed')
  expect(bodyOf(await compose({ recipients: recipients.slice(6) }), 0)).toContain('1 more recipient is not')
  expect(reportNames(await composeReport(input({ recipients: recipients.slice(6) })))).toMatchObject({
    moreCount: 1,
  })
  expect(bodyOf(await compose({ recipients: recipients.slice(7) }), 0)).not.toContain('more recipient')
})

test('where not all can be named failures and delays are, before successes', async () => {
  const reached: ReportedRecipient = { ...bob, status: '2.0.0', action: 'delivered' }
  const most = Array.from({ length: listedRecipientsMax }, () => reached)
  const report = await compose({ recipients: [...most, { ...reached, action: 'relayed' }, late, bob] })
  const [, ...named] = statusOf(report).map(({ action }) => action)
  expect(named.slice(0, 4)).toEqual(['failed', 'delayed', 'relayed', 'delivered'])
  expect(named).toHaveLength(listedRecipientsMax)
})

test('an invalid status is reported as a general one of its kind', async () => {
  const recipients = [
    { ...bob, status: '550' },
    { ...late, status: '' },
    { ...bob, status: '5.1.1\r\nX-Evil: 1' },
  ]
  const [, failed, delayed, evil] = statusOf(await compose({ recipients }))
  expect([failed?.['status'], delayed?.['status'], evil?.['status']]).toEqual(['5.0.0', '4.0.0', '5.0.0'])
})

test('people are told the status where the server gave no reason', async () => {
  expect(bodyOf(await compose({ recipients: [{ ...bob, reason: '\r\n' }] }), 0)).toContain(
    '<bob@example.net>: 5.1.1\r\n',
  )
})

test.each([
  ['reason', 1000],
  ['address', 512],
] as const)(
  'of its %s a report has %d octets in both parts, and says that it was cut',
  async (name, bytesMax) => {
    const report = await compose({ recipients: [{ ...bob, [name]: '<' + 'x'.repeat(3000) }] })
    const cut = `<${'x'.repeat(bytesMax - 4)}...`
    for (const part of [0, 1]) {
      const text = bodyOf(report, part).replaceAll(/\r\n *(?=[x<])/g, '')
      expect(text).toContain(cut)
      expect(text).not.toContain('x'.repeat(bytesMax - 3))
    }
  },
)

test.each(['', 'a@b, c@d', 'x'])('a report to %j is refused as ADDRESS_INVALID', async (originalSender) => {
  await expect(composeReport(input({ originalSender }))).rejects.toMatchObject({ code: 'ADDRESS_INVALID' })
})

test.each(['', 'a b', 'a\r\nb', 'a@b', '\u00e9.example', 'x'.repeat(256)])(
  'reportingMta %j is refused as OPTION_INVALID',
  async (reportingMta) => {
    await expect(composeReport(input({ reportingMta }))).rejects.toMatchObject({ code: 'OPTION_INVALID' })
  },
)

test('whatever the input, a report parses, its lines fit, and it names the right recipients', async () => {
  const words = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.string({ minLength: 900, maxLength: 3000 }),
  )
  const recipient = fc.record({
    address: fc.oneof(fc.emailAddress(), words),
    action: fc.constantFrom('failed' as const, 'delayed' as const),
    status: fc.oneof(fc.constant('5.1.1'), words),
    reason: words,
    remote: fc.option(words, { nil: undefined }),
  })
  const header = fc.array(fc.oneof(words, fc.constantFrom('A: b', '\r\n', 'Subject: ', '\n', ' x')), {
    maxLength: 8,
  })
  await fc.assert(
    fc.asyncProperty(
      fc.array(recipient, { minLength: 1, maxLength: 5 }),
      fc.emailAddress().filter(isMailAddress),
      words,
      fc
        .tuple(header, fc.uint8Array())
        .map(([lines, tail]) => Buffer.concat([Buffer.from(lines.join('\r\n')), tail])),
      fc.boolean(),
      async (recipients, originalSender, id, data, smtputf8) => {
        const report = await compose({
          recipients,
          originalSender,
          id,
          originalId: id,
          data,
          dataBytes: data.length,
          smtputf8,
        })
        expect(report.fields.map(([name]) => name)).toHaveLength(8)
        const groups = statusOf(report)
        expect(groups.slice(1).map((group) => group['action'])).toEqual(
          recipients.map(({ action }) => action),
        )
        expect(bodyOf(report, 0)).toMatch(/^This is the mail system at relay\.example\.org\.\r\n/)
      },
    ),
    { numRuns: 300 },
  )
})

const structuredCloneOf = (value: ReportInput): ReportInput => ({
  ...structuredClone(value),
  data: Buffer.from(original),
})

test('a reply of a server is diagnosed as smtp, with its name, and our own words before it are not', async () => {
  const remote = 'mx1.example.net[192.0.2.1]:25'
  const reason = 'delivery time expired; the last attempt: 451 4.2.1 try later'
  const report = await compose({ recipients: [{ ...bob, status: '5.4.7', reason, remote }] })
  expect(statusOf(report)[1]).toMatchObject({
    status: '5.4.7',
    'remote-mta': 'dns; mx1.example.net',
    'diagnostic-code': 'smtp; 451 4.2.1 try later',
  })
  expect(bodyOf(report, 0).replaceAll(/\r\n +/g, ' ')).toContain(
    `the last attempt: ${remote} said: 451 4.2.1 try later`,
  )
})

test('words of ours are of our own type, and name no server where none answered', async () => {
  const reason = 'mx1.example.net[192.0.2.1]:25: connect ECONNREFUSED'
  const [, own] = statusOf(await compose({ recipients: [{ ...bob, reason, remote: undefined }] }))
  expect(own?.['diagnostic-code']).toBe(`x-waybill; ${reason}`)
  expect(own).not.toHaveProperty('remote-mta')
})

test('of a remote a report has 255 octets, however long it is', async () => {
  const report = await compose({ recipients: [{ ...bob, remote: 'x'.repeat(3000) }] })
  expect(bodyOf(report, 0)).toContain('x'.repeat(252) + '...')
  expect(bodyOf(report, 1)).not.toContain('x'.repeat(256))
})
