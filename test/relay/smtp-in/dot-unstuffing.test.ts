import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LineEnds, unstuffed } from '../../../src/relay/smtp-in/dot-unstuffing.js'

/** What a client sends in pieces, the first of which ends within its first line. */
function received(pieces: readonly string[]): { content: string; rest: string | undefined } {
  let held = Buffer.alloc(0)
  let content = ''
  for (const [i, piece] of pieces.entries()) {
    const all = Buffer.concat([held, Buffer.from(piece, 'latin1')])
    const found = unstuffed(all)
    content += found.content.toString('latin1')
    held = Buffer.from(found.held)
    if (found.end !== undefined)
      return { content, rest: all.toString('latin1', found.end) + pieces.slice(i + 1).join('') }
  }
  return { content: content + held.toString('latin1'), rest: undefined }
}

test.each([
  ['ab\r\n.\r\nQUIT', 'ab\r\n', 'QUIT'],
  ['ab\r\n..\r\n.\r\n', 'ab\r\n.\r\n', ''],
  ['ab\r\n...\r\n..x\r\n.\r\n', 'ab\r\n..\r\n.x\r\n', ''],
  // Bare line feeds end nothing.
  ['ab\n.\r\ncd\r\n.\n\r\n.\r\n', 'ab\n.\r\ncd\r\n.\n\r\n', ''],
  ['ab\r\n.\rx\r\n.\r\n', 'ab\r\n.\rx\r\n', ''],
  ['ab\n..\n..\r\n.\r\n', 'ab\n.\n.\r\n', ''],
])('%j is the data %j', (sent, content, rest) => {
  expect(received([sent])).toEqual({ content, rest })
})

test('any data comes out as it was before its dots were doubled, in whatever pieces it comes', () => {
  const letters = fc.constantFrom(
    '.',
    '\r\n',
    'x',
    '\r\n.',
    '..',
    '\n',
    '\r',
    'x'.repeat(255),
    'y'.repeat(300),
  )
  fc.assert(
    fc.property(
      fc.array(letters, { maxLength: 60 }),
      fc.array(fc.oneof(fc.nat(8), fc.nat(600)), { maxLength: 40 }),
      (parts, cuts) => {
        const text = `ab${parts.join('')}\r\n`
        const sent = `${text.replace(/\n\./g, '\n..')}.\r\nNOOP`
        const pieces: string[] = [sent.slice(0, 2)]
        let at = 2
        for (const cut of cuts) {
          pieces.push(sent.slice(at, at + cut))
          at += cut
        }
        pieces.push(sent.slice(at))
        expect(received(pieces)).toEqual({ content: text, rest: 'NOOP' })
      },
    ),
    { numRuns: 2000 },
  )
})

test('nothing is held of a piece that ends within a line', () => {
  const piece = Buffer.from('ab\r\n.. a line\r\n that goes on')
  expect(unstuffed(piece)).toMatchObject({ end: undefined, held: Buffer.alloc(0) })
  expect(unstuffed(piece).content.toString()).toBe('ab\r\n. a line\r\n that goes on')
})

test('a piece stays one piece, however many of its lines begin with a dot', () => {
  const { content, held } = unstuffed(Buffer.from(`ab${'\r\n..'.repeat(50_000)}\r\n`))
  expect(content.length + held.length).toBe(2 + 3 * 50_000 + 2)
})

const withOneCr = (pieces: readonly string[]): string => {
  const lineEnds = new LineEnds()
  return pieces.map((piece) => lineEnds.of(Buffer.from(piece, 'latin1')).toString('latin1')).join('')
}

test('CRs before an LF are one line end, in whatever pieces they come; others stay', () => {
  const letters = fc.constantFrom('\r', '\r\r', '\n', 'a')
  fc.assert(
    fc.property(fc.array(fc.array(letters).map((parts) => parts.join(''))), (pieces) => {
      const sent = [...pieces, 'end\r\r\n']
      expect(withOneCr(sent)).toBe(sent.join('').replace(/\r+\n/g, '\r\n'))
    }),
  )
})

test('of a run of CRs only so many are held', () => {
  const run = '\r'.repeat(1 << 20)
  const lineEnds = new LineEnds()
  expect(lineEnds.of(Buffer.from(run)).length).toBeGreaterThan(run.length - 4096)
  expect(lineEnds.of(Buffer.from('x')).length).toBeLessThan(4096)
  expect(withOneCr([run, 'x'])).toBe(`${run}x`)
})

test('a piece whose lines end with one CR is not copied', () => {
  const piece = Buffer.from('a\r\nb\rc\n')
  expect(new LineEnds().of(piece)).toBe(piece)
})
