/** Eight-bit messages in seven bits: the same to a reader, and nothing over 127 left in a body. */
import { isAscii } from 'node:buffer'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { inSevenBits, NoSevenBitForm, sevenBitPlan } from '../../../src/relay/mime/seven-bit.js'

const octets = (text: string): Buffer => Buffer.from(text.replaceAll('\n', '\r\n'))

async function converted(data: Buffer, pieceBytes = data.length): Promise<string | undefined> {
  const pieces: Buffer[] = []
  for (let at = 0; at < data.length; at += pieceBytes) pieces.push(data.subarray(at, at + pieceBytes))
  const plan = await sevenBitPlan(() => pieces)
  if (plan === undefined) return undefined
  const found: Buffer[] = []
  for await (const piece of inSevenBits(pieces, plan)) found.push(piece)
  return Buffer.concat(found).toString('latin1').replaceAll('\r\n', '\n')
}

const unquoted = (text: string): Buffer =>
  Buffer.from(
    text
      .replace(/=\r?\n/g, '')
      .replace(/=([0-9A-F]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))),
    'latin1',
  )

test('a message of one part becomes quoted-printable, with its other fields as they were', async () => {
  const text =
    'Subject: x\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n' +
    'Content-Transfer-Encoding: 8bit\n\nGrüße = \n.\n'
  expect(await converted(octets(text))).toBe(
    'Subject: x\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n' +
      'Content-Transfer-Encoding: quoted-printable\n\nGr=C3=BC=C3=9Fe =3D=20\n.\n',
  )
})

test('a message without MIME fields gets them, with the charset that its octets are of', async () => {
  const fields = (charset: string): string =>
    `Subject: x\nMIME-Version: 1.0\nContent-Type: text/plain; charset=${charset}\n` +
    'Content-Transfer-Encoding: quoted-printable\n\n'
  expect(await converted(octets('Subject: x\n\nü\n'))).toBe(`${fields('utf-8')}=C3=BC\n`)
  expect(await converted(Buffer.from('Subject: x\r\n\r\n\xfc\r\n', 'latin1'))).toBe(
    `${fields('unknown-8bit')}=FC\n`,
  )
})

test('a message in seven bits has no plan, whatever it says of itself', async () => {
  expect(await converted(octets('Content-Transfer-Encoding: 8bit\n\nplain\n'))).toBeUndefined()
  expect(await converted(octets('Subject: Grüße\n\nplain\n'))).toBeUndefined()
})

test('only parts with octets over 127 are encoded, and what holds them says 7bit', async () => {
  const source = [
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary="a b"',
    'Content-Transfer-Encoding: 8bit',
    '',
    'no mail reader shows this: ü',
    '--a b',
    '',
    'plain = plain',
    '--a b',
    'Content-Type: text/html; charset=utf-8',
    'Content-Transfer-Encoding: 8bit',
    '',
    '<p>ü</p>',
    '--a b',
    'Content-Type: message/rfc822',
    'Content-Transfer-Encoding: 8bit',
    '',
    'Subject: inner',
    'Content-Transfer-Encoding: binary',
    '',
    'ö',
    '--a b',
    'Content-Transfer-Encoding: base64',
    '',
    'AAAAüAA=',
    '--a b--',
    'behind it ü',
    '',
  ].join('\n')
  const wanted = source
    .replace(
      'boundary="a b"\nContent-Transfer-Encoding: 8bit',
      'boundary="a b"\nContent-Transfer-Encoding: 7bit',
    )
    .replace('this: ü', 'this: ')
    .replace('utf-8\nContent-Transfer-Encoding: 8bit', 'utf-8\nContent-Transfer-Encoding: quoted-printable')
    .replace('<p>ü</p>', '<p>=C3=BC</p>')
    .replace('rfc822\nContent-Transfer-Encoding: 8bit', 'rfc822\nContent-Transfer-Encoding: 7bit')
    .replace('inner\nContent-Transfer-Encoding: binary', 'inner\nContent-Transfer-Encoding: quoted-printable')
    .replace('\nö\n', '\n=C3=B6\n')
    .replace('AAAAüAA=', 'AAAAAA=')
    .replace('behind it ü', 'behind it ')
  expect(await converted(octets(source))).toBe(wanted)
})

test('octets that a quoted-printable part should not have are encoded, and the rest stays', async () => {
  const text = 'Content-Transfer-Encoding: quoted-printable\n\n=C3=BC = ü\n'
  expect(await converted(octets(text))).toBe(
    'Content-Transfer-Encoding: quoted-printable\n\n=C3=BC = =C3=BC\n',
  )
})

test('a part that is signed is not converted: its message has no form in seven bits', async () => {
  const signed = (inner: string): Buffer =>
    octets(
      'Content-Type: multipart/signed; boundary=s\n\n--s\nContent-Transfer-Encoding: 8bit\n\n' +
        `${inner}\n--s\nContent-Type: application/pgp-signature\n\nx\n--s--\n`,
    )
  await expect(converted(signed('Grüße'))).rejects.toThrow(NoSevenBitForm)
  const beside = octets('Content-Type: multipart/mixed; boundary=m\n\n--m\n\nü\n--m\n')
  const text = await converted(Buffer.concat([beside, signed('plain'), octets('--m--\n')]))
  // The field of a part that is signed is a part of what is signed.
  expect(text).toContain('--s\nContent-Transfer-Encoding: 8bit\n\nplain\n')
  expect(text).toContain('=C3=BC')
})

test('a delivery report with octets over 127 has no form in seven bits', async () => {
  const text = 'Content-Type: message/delivery-status\n\nReporting-MTA: dns; x\nX: ü\n\nY: ü\n'
  await expect(converted(octets(text))).rejects.toThrow(NoSevenBitForm)
})

test('a header without end, and parts within parts without end, are no mail', async () => {
  const long = octets(`Subject: ü${'x'.repeat(300 << 10)}`)
  await expect(converted(long)).rejects.toThrow(NoSevenBitForm)
  const deep = Array.from(
    { length: 101 },
    (_, i) => `Content-Type: multipart/mixed; boundary=b${i}\n\nü\n--b${i}\n`,
  )
  await expect(converted(octets(deep.join('')))).rejects.toThrow(NoSevenBitForm)
})

test('mail in seven bits needs no structure that can be followed', async () => {
  const long = octets(`Subject: ${'x'.repeat(300 << 10)}`)
  expect(await sevenBitPlan(() => [long])).toBeUndefined()
})

test('whatever the body and however it is cut, it is seven bits, in short lines, and says the same', async () => {
  const anyBody = fc.array(
    fc.oneof(
      fc.constantFrom('ü', '=', ' ', '\t', '\r', '\n', '\r\n', '--', '.', '\0'),
      fc.string({ unit: 'binary' }),
    ),
    { minLength: 1, maxLength: 200 },
  )
  await fc.assert(
    fc.asyncProperty(anyBody, fc.integer({ min: 1, max: 50 }), async (words, pieceBytes) => {
      const body = Buffer.from(`ü${words.join('')}\r\n`)
      const data = Buffer.concat([Buffer.from('Subject: x\r\n\r\n'), body])
      const text = await converted(data, pieceBytes)
      expect(text).toBe(await converted(data))
      const [, ...rest] = text!.split('\n\n')
      const found = rest.join('\n\n')
      expect(isAscii(Buffer.from(found, 'latin1'))).toBe(true)
      expect(Math.max(...found.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(76)
      expect(unquoted(found).toString().replaceAll('\r', '\n')).toBe(
        body.toString().replace(/\r\n|\r|\n/g, '\n'),
      )
    }),
  )
})

test('a line that never ends is read in chunks, and its characters stay whole', async () => {
  const line = 'ü'.repeat(100_000)
  const text = await converted(octets(`Subject: x\n\n${line}\n`), 1001)
  expect(text).toContain('charset=utf-8')
  expect(unquoted(text!.split('\n\n')[1]!).toString()).toBe(`${line}\n`)
})

test('a part of a digest is a message unless it has a type: its own header is left alone', async () => {
  const part = 'Subject: one\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: '
  const digest = (encoding: string, text: string): string =>
    `Content-Type: multipart/digest; boundary=b\n\n--b\n\n${part}${encoding}\n\n${text}\n--b--\n`
  expect(await converted(octets(digest('8bit', 'ä')))).toBe(digest('quoted-printable', '=C3=A4'))
  const typed = 'Content-Type: multipart/digest; boundary=b\n\n--b\nContent-Type: text/plain\n'
  expect(await converted(octets(`${typed}\nä\n--b--\n`))).toBe(
    `${typed}Content-Transfer-Encoding: quoted-printable\n\n=C3=A4\n--b--\n`,
  )
})

test('a message within a digest has text again where no type is said', async () => {
  const digest = 'Content-Type: multipart/digest; boundary=b\n\n--b\n\nSubject: one\n'
  expect(await converted(octets(`${digest}\nä\n--b--\n`))).toBe(
    `${digest}Content-Transfer-Encoding: quoted-printable\n\n=C3=A4\n--b--\n`,
  )
})
