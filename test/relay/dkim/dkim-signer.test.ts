import { generateKeyPair } from 'node:crypto'
import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { signerOf, inTurn, turnsMax } from '../../../src/relay/dkim/dkim-signer.js'
import { ed25519, onTheWire, publicKeys, rsa } from './dkim-fixture.js'
import { verdictsOf, type Verdict } from './dkim-verifier.js'

const signer = signerOf({ dkim: [rsa, ed25519], clock: { ...systemClock, wallMs: () => 1_700_000_000_999 } })!

const keyPair = promisify(generateKeyPair)
/** Work for the pool that takes as long as many signatures. */
const poolWork = (): Promise<unknown> => keyPair('rsa', { modulusLength: 2048 })

const octets = (text: string): Buffer => Buffer.from(text, 'latin1')
const signaturesOf = async (text: string): Promise<string> =>
  (await signer.fieldsFor(octets(text))).toString('latin1')

/** What a receiver finds out. */
const received = (signatures: string, text: string): Verdict[] =>
  verdictsOf(onTheWire(octets(signatures + text)), publicKeys)

async function namesIn(header: string): Promise<string> {
  const text = `${header}\r\n\r\nx\r\n`
  const [verdict] = received(await signaturesOf(text), text)
  return verdict!.names.join(':')
}

test('both keys of a domain sign, above everything else', async () => {
  const text = 'Received: here\r\nFrom: ada@news.example.org\r\nSubject: a\r\n b\r\n\r\nHello.\r\n'
  const signatures = await signaturesOf(text)
  const common = { domain: 'example.org', signedAt: 1_700_000_000, isRight: true }
  expect(received(signatures, text)).toMatchObject([
    { ...common, selector: 'mail', algorithm: 'rsa-sha256' },
    { ...common, selector: 'small', algorithm: 'ed25519-sha256' },
  ])
  expect(signatures).toMatch(/^(?:DKIM-Signature: [ -~]+\r\n(?: [!-~][ -~]*\r\n)+){2}$/)
  expect(Math.max(...signatures.split('\r\n').map((line) => line.length))).toBeLessThanOrEqual(78)
})

test('the smallest mail is signed for the fields that must not be added', async () => {
  expect(await namesIn('From: ada@example.org')).toBe('from:from:to:cc:subject:reply-to')
})

test('every instance of a field is signed, and one more of what has one meaning', async () => {
  const header = `Subject: 1
List-Id: 1
From: ada@example.org
Subject: 2
To: a
Date: now
Message-Id: <1@x>
Resent-From: 1
Resent-From: 2
MIME-Version: 1.0
Content-Type: text/plain
In-Reply-To: <2@x>
Sender: s
References: <2@x>
List-Unsubscribe: <u>
List-Unsubscribe-Post: p`
  expect(await namesIn(header)).toBe(
    'from:from:to:to:cc:subject:subject:subject:reply-to:sender:sender:date:date:message-id:message-id:' +
      'in-reply-to:in-reply-to:references:references:mime-version:mime-version:content-type:content-type:' +
      'list-id:list-unsubscribe:list-unsubscribe-post:resent-from:resent-from',
  )
})

test('what servers write, or take out, is not signed', async () => {
  const written =
    'Return-Path: <x>\r\nReceived: x\r\nBcc: x\r\nX-Spam: x\r\nDKIM-Signature: v=1; b=\r\nAuthentication-Results: x'
  expect(await namesIn(`${written}\r\nFrom: ada@example.org`)).toBe('from:from:to:cc:subject:reply-to')
})

test.each([
  ['another From', 'From: eve@evil.example\r\n'],
  ['another Subject', 'Subject: x\r\n'],
  ['a To, where there was none', 'To: x\r\n'],
  ['a Reply-To, where there was none', 'Reply-To: x\r\n'],
  ['another Content-Type', 'Content-Type: text/html\r\n'],
])('to add %s breaks the signatures; to add a Received does not', async (_, added) => {
  const text = 'From: ada@example.org\r\nSubject: a\r\nContent-Type: text/plain\r\n\r\nx\r\n'
  const signatures = await signaturesOf(text)
  const rights = (above: string): boolean[] =>
    received(above + signatures, text).map(({ isRight }) => isRight)
  expect(rights('Received: x\r\nReturn-Path: <x>\r\n')).toEqual([true, true])
  expect(rights(added)).toEqual([false, false])
})

test('a signature that is there already stays, below ours', async () => {
  const text = 'From: ada@example.org\r\n\r\nx\r\n'
  const signed = (await signaturesOf(text)) + text
  const verdicts = received(await signaturesOf(signed), signed)
  expect(verdicts.map(({ isRight }) => isRight)).toEqual([true, true, true, true])
})

test.each([
  ['nothing at all', ''],
  ['a body alone', '\r\nFrom: ada@example.org\r\n'],
  ['no From field', 'To: ada@example.org\r\n\r\n'],
  ['two From fields', 'From: ada@example.org\r\nFrom: ada@example.org\r\n\r\n'],
  ['two authors', 'From: ada@example.org, grace@example.org\r\n\r\n'],
  ['an author from elsewhere', 'From: ada@example.net\r\n\r\n'],
  ['an author above the domain', 'From: ada@org\r\n\r\n'],
  ['an author at a name that only ends like it', 'From: ada@badexample.org\r\n\r\n'],
  ['a header that begins folded', ' x\r\nFrom: ada@example.org\r\n\r\n'],
  ['a line that is no field', 'From: ada@example.org\r\nx\r\n\r\n'],
  ['a header over 256 KiB', `From: ada@example.org\r\n${`X: ${'y'.repeat(900)}\r\n`.repeat(291)}\r\n`],
  ['200 fields to be named', `From: ada@example.org\r\n${'List-Id: x\r\n'.repeat(194)}\r\n`],
])('mail with %s leaves without a signature', async (_, text) => {
  expect(await signaturesOf(text)).toBe('')
})

test.each([
  ['no body', 'From: ada@example.org\r\n'],
  ['no end of its only line', 'From: ada@example.org'],
  ['an empty body', 'From: ada@example.org\r\n\r\n'],
  ['a body of empty lines', 'From: ada@example.org\r\n\r\n\r\n \r\n'],
  ['a last line without an end', 'From: ada@example.org\r\n\r\nx'],
  ['LFs alone', 'From: ada@example.org\nSubject: a\n\tb\n\nx \n\n'],
  ['an empty line of CRs', 'From: ada@example.org\r\nX: y\r\rz\r\n\r\n'],
  ['CRs alone', 'From: ada@example.org\rSubject: a\r\rx \r\r'],
  ['eight bits', 'From: J\xf6rg <ada@example.org>\r\nSubject: \xa0\xe9 \xa0\r\n\r\n\xff\xa0\r\n'],
  ['a blank before the colon', 'From : ada@example.org\r\nSubject\t:x\r\n\r\n'],
  ['names in any case', 'FROM: ada@example.org\r\nsUBJECT: x\r\n\r\n'],
  ['empty fields', 'Subject:\r\nTo: \r\nFrom: ada@example.org\r\n\r\n'],
  ['a folded author', 'From:\r\n Ada\r\n\t<ada@example.org>\r\n\r\n'],
  ['a header of 100 KB', `From: ada@example.org\r\nTo: a${',\r\n b@example.net'.repeat(6_000)}\r\n\r\nx\r\n`],
  ['a header of 256 KiB', `From: ada@example.org\r\n${`X: ${'y'.repeat(900)}\r\n`.repeat(289)}\r\n`],
  ['199 fields to be named', `From: ada@example.org\r\n${'List-Id: x\r\n'.repeat(193)}\r\n`],
  ['tabs, controls and semicolons in a field', 'From: ada@example.org\r\nSubject:\t;b=x;\x0b \x7f\r\n\r\n'],
])('the signatures of mail with %s are right', async (_, text) => {
  const verdicts = received(await signaturesOf(text), text)
  expect(verdicts.map(({ isRight }) => isRight)).toEqual([true, true])
})

test('whatever is sent, in whatever pieces, is signed right or not at all', async () => {
  const end = fc.constantFrom('\r\n', '\r\n', '\r\n', '\n', '\r')
  const whole = fc.constantFrom(
    'To: a,',
    ' b@c',
    'Subject:  x \t y ',
    'Subject: \xe9',
    'subject :',
    'Received: x',
    '\tx',
  )
  const more = fc.constantFrom('DKIM-Signature: v=1; b=x', 'Content-Type: a;', ' b="c"', 'List-Id: <l>')
  const bad = fc.constantFrom(' ', 'X', 'From: ada@example.org', 'from:a@b.example.org')
  const field = fc.oneof({ arbitrary: whole, weight: 8 }, { arbitrary: more, weight: 8 }, bad)
  const text = fc.constantFrom('', '', ' ', 'x', ' x  y\t', '.', '..', '\xff', '\x0b')
  const lines = (line: fc.Arbitrary<string>): fc.Arbitrary<string> =>
    fc.array(fc.tuple(line, end), { maxLength: 6 }).map((all) => all.flat().join(''))
  const parts = fc.tuple(fc.constant('From: ada@example.org'), end, lines(field), end, lines(text), text)
  let signedCount = 0
  await fc.assert(
    fc.asyncProperty(parts, fc.nat({ max: 60 }), async (all, at) => {
      const data = octets(all.join(''))
      const signatures = (await signer.fieldsFor(data)).toString('latin1')
      const verdicts = received(signatures, all.join('')).slice(0, signatures === '' ? 0 : 2)
      expect(verdicts.every(({ isRight }) => isRight)).toBe(true)
      signedCount += verdicts.length
      const pieces = [data.subarray(0, at), data.subarray(at)]
      const inPieces = await signer.fieldsFor(Readable.from(pieces.filter(({ length }) => length > 0)))
      // There is no chance in either kind of signature.
      expect(inPieces.toString('latin1')).toBe(signatures)
    }),
  )
  expect(signedCount).toBeGreaterThan(50)
})

test('of mail that is not signed no more is read than its header', async () => {
  let pieceCount = 0
  async function* pieces(): AsyncGenerator<Buffer> {
    for (const piece of ['From: ada@example.net\r\n', '\r\n', 'x', 'y']) {
      pieceCount++
      yield octets(piece)
    }
  }
  expect((await signer.fieldsFor(pieces())).length).toBe(0)
  expect(pieceCount).toBe(2)
})

test('data that cannot be read to its end is not signed: the error is that of the data', async () => {
  async function* pieces(): AsyncGenerator<Buffer> {
    yield octets('From: ada@example.org\r\n\r\n')
    throw new Error('rotten')
  }
  await expect(signer.fieldsFor(pieces())).rejects.toThrow('rotten')
})

test('two transports sign in the same turns: what one of them has taken, the other waits for', async () => {
  const other = signerOf({ dkim: [ed25519] })!
  const text = octets('From: ada@example.org\r\n\r\nx\r\n')
  let underWayCount = 0
  const ends: (() => void)[] = []
  const taken = Array.from({ length: turnsMax }, () =>
    inTurn(() => {
      underWayCount++
      return new Promise<void>((resolve) => ends.push(resolve))
    }),
  )
  expect(underWayCount).toBe(turnsMax)
  let signedCount = 0
  const signed = [signer, other].map((one) => one.fieldsFor(text).then(() => signedCount++))
  await poolWork()
  expect(signedCount).toBe(0)
  for (const end of ends) end()
  await Promise.all([...taken, ...signed])
  expect(signedCount).toBe(2)
})

test('a turn that fails is given on', async () => {
  const broken = Array.from({ length: turnsMax + 2 }, () => inTurn(() => Promise.reject(new Error('no key'))))
  for (const one of broken) await expect(one).rejects.toThrow('no key')
  expect(await signaturesOf('From: ada@example.org\r\n\r\nx\r\n')).not.toBe('')
})

test('many that are signed at once are all signed', async () => {
  const text = 'From: ada@example.org\r\n\r\nx\r\n'
  const all = Array.from({ length: 50 }, () => signaturesOf(text))
  for (const signatures of await Promise.all(all))
    expect(received(signatures, text).map(({ isRight }) => isRight)).toEqual([true, true])
})
