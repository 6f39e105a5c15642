/** Lines of bytes: what is held of them. */
import { expect, test } from 'vitest'
import { byteLines } from '../../../tools/commands/submit/byte-lines.js'

async function linesOf(pieces: readonly string[], lineBytesMax: number): Promise<(string | undefined)[]> {
  const lines: (string | undefined)[] = []
  const source = (async function* () {
    for (const piece of pieces) yield Buffer.from(piece)
  })()
  for await (const line of byteLines(source, lineBytesMax)) lines.push(line?.toString())
  return lines
}

test('lines are the same however the bytes come, and the last one needs no end', async () => {
  const whole = 'ab\n\ncd\r\nef'
  const expected = ['ab', '', 'cd\r', 'ef']
  expect(await linesOf([whole], 3)).toEqual(expected)
  expect(await linesOf(whole.split(''), 3)).toEqual(expected)
})

test('a line that is longer is one that is not there, and the next one is whole', async () => {
  expect(await linesOf(['abc\nab', 'cd', 'ef\nabc\nabcd'], 3)).toEqual(['abc', undefined, 'abc', undefined])
})

test('a line without an end is known to be too long before more of it is read', async () => {
  let readCount = 0
  const endless = (async function* () {
    for (;;) {
      readCount++
      yield Buffer.alloc(10)
    }
  })()
  const first = await byteLines(endless, 25).next()
  expect([first.value, readCount]).toEqual([undefined, 3])
})
