/** What messages say, over the API. */
import { expect, test } from 'vitest'
import { decodedPart, structureOf, textOf, type MimePart } from '../../src/http/content/mime-parts.js'
import { httpStage } from './stage.js'

async function* pieces(text: string, bytes = 1000): AsyncGenerator<Buffer> {
  const data = Buffer.from(text, 'latin1')
  for (let at = 0; at < data.length; at += bytes) yield data.subarray(at, at + bytes)
}

const mail = [
  'From: Ada <ada@example.org>',
  'Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=',
  ' and more',
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed; boundary=outer',
  '',
  '--outer',
  'Content-Type: multipart/alternative; boundary=inner',
  '',
  '--inner',
  'Content-Type: text/plain; charset=iso-8859-1',
  'Content-Transfer-Encoding: quoted-printable',
  '',
  'Gr=FC=DFe',
  '--inner',
  'Content-Type: text/html; charset=utf-8',
  '',
  '<script>alert(1)</script><b>hello</b>',
  '--inner--',
  '--outer',
  'Content-Type: application/pdf; name="a.pdf"',
  'Content-Disposition: attachment; filename="../a\u00fc.pdf"',
  'Content-Transfer-Encoding: base64',
  '',
  'aGVs',
  'bG8=',
  '--outer',
  'Content-Type: message/rfc822',
  '',
  'Subject: inside',
  '',
  'x',
  '--outer--',
  '',
].join('\r\n')

const numbered = ({ part, type, parts = [] }: MimePart): string[] => [
  `${part} ${type}`,
  ...parts.flatMap(numbered),
]

test('the structure numbers parts as IMAP does, and the header is decoded', async () => {
  const { header, tree, isTruncated } = await structureOf(pieces(mail, 7))
  expect(header[1]).toEqual({ name: 'Subject', value: 'Grüße and more' })
  expect(numbered(tree!)).toEqual([
    '0 multipart/mixed',
    '1 multipart/alternative',
    '1.1 text/plain',
    '1.2 text/html',
    '2 application/pdf',
    '3 message/rfc822',
  ])
  expect(isTruncated).toBe(false)
  const text = (await decodedPart(pieces(mail), '1.1', 1000))!
  expect([textOf(text), text.isTruncated]).toEqual(['Grüße', false])
  const file = (await decodedPart(pieces(mail), '2', 1000))!
  expect([file.data.toString(), file.filename]).toEqual(['hello', expect.stringContaining('.pdf')])
  expect((await decodedPart(pieces(mail), '2', 3))!).toMatchObject({ isTruncated: true })
  expect(await decodedPart(pieces(mail), '9', 1000)).toBeUndefined()
})

test('a message without MIME is one part, and one without a body none too many', async () => {
  const plain = await structureOf(pieces('Subject: x\r\n\r\nhello\r\n'))
  expect(plain.tree).toMatchObject({ part: '1', type: 'text/plain', bytes: 7 })
  expect((await structureOf(pieces(''))).header).toEqual([])
  expect(textOf({ data: Buffer.from('\u00fc'), charset: 'x-unknown' })).toBe('ü')
})

test.each([
  [
    'of a thousand parts',
    `Content-Type: multipart/mixed; boundary=b\r\n\r\n${'--b\r\n\r\nx\r\n'.repeat(1000)}`,
  ],
  [
    'nested a hundred times',
    Array.from(
      { length: 100 },
      (_, i) => `Content-Type: multipart/mixed; boundary=b${i}\r\n\r\n--b${i}\r\n`,
    ).join(''),
  ],
  ['with a header of a megabyte', `X: ${'y'.repeat(1_000_000)}\r\n\r\n`],
  ['of eleven megabytes', `Subject: x\r\n\r\n${`${'y'.repeat(998)}\r\n`.repeat(11_000)}`],
])('a message %s is shown as far as it was read', async (_, text) => {
  const { isTruncated, tree } = await structureOf(pieces(text, 65_536))
  expect(isTruncated).toBe(true)
  expect(tree === null ? 0 : numbered(tree).length).toBeLessThan(502)
})

test('HTML comes sandboxed, once, and everything else as text or as a file', async () => {
  const stage = await httpStage()
  const id = await stage.submit('a@example.net', { data: Buffer.from(mail, 'latin1'), hold: true })
  const path = `/v1/messages/${id}`
  expect((await stage.ask('read', `${path}/structure`)).status).toBe(403)
  const data = await stage.ask('content', `${path}/data`)
  expect(Buffer.from(await data.arrayBuffer()).toString('latin1')).toBe(mail)
  expect(data.headers.get('content-security-policy')).toContain('sandbox')
  const html = await stage.ask('content', `${path}/parts/1.2`)
  expect(html.headers.get('content-type')).toBe('text/plain; charset=utf-8')
  const file = await stage.ask('content', `${path}/parts/2?download=true`)
  expect(await file.text()).toBe('hello')
  expect(file.headers.get('content-disposition')).toMatch(/^attachment; filename\*=UTF-8''/)
  const view = await stage.ask('content', `${path}/parts/1.2/view`, { method: 'POST' })
  const { href } = (await view.json()) as { href: string }
  const shown = await fetch(`${stage.url}${href}`)
  expect(await shown.text()).toContain('<b>hello</b>')
  expect(shown.headers.get('content-security-policy')).toMatch(/^sandbox; default-src 'none'/)
  expect((await fetch(`${stage.url}${href}`)).status).toBe(404)
  const wrong = await stage.ask('content', `${path}/parts/1.1/view`, { method: 'POST' })
  expect(wrong.status).toBe(400)
})
