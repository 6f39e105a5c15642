/** The data of a message, and what stands behind it, in whatever pieces they come. */
import { expect, test } from 'vitest'
import { Parser } from '../../../src/relay/smtp-in/smtp-parser.js'

interface Read {
  readonly data: string
  readonly commands: readonly string[]
}

async function read(pieces: readonly string[], command = 'DATA\r\n', dataAt = 1): Promise<Read> {
  const parser = new Parser()
  const commands: string[] = []
  let data = ''
  parser.oncommand = (line, done = () => undefined) => {
    commands.push(line.toString())
    if (commands.length === dataAt) {
      const stream = parser.startDataMode(0)
      stream.on('data', (piece: Buffer) => (data += piece.toString()))
      stream.on('end', () => parser.continue())
    }
    done()
  }
  parser.write(command)
  for (const piece of pieces) parser.write(piece)
  await new Promise((resolve) => parser.end(resolve))
  return { data, commands: commands.slice(1) }
}

/** The same of all at once, by the words of RFC 5321 §4.5.2, with one CR at each line end. */
function meant(sent: string): Read {
  const end = /(?:^|\r\n)(?=\.\r\n)/.exec(sent)!
  const data = sent.slice(0, end.index + end[0].length)
  const rest = sent.slice(data.length + '.\r\n'.length)
  return {
    data: data.replace(/(^|\n)\.\./g, '$1.').replace(/\r+\n/g, '\r\n'),
    commands: rest.split(/\r?\n/).slice(0, -1),
  }
}

const letters = ['\r', '\n', '.', 'a']
const words = (length: number): string[] =>
  length === 0 ? [''] : words(length - 1).flatMap((word) => letters.map((letter) => word + letter))

test.each([0, 1, 2, 3, 4])(
  'data that begins with any %d octets is what it was, wherever it is cut',
  async (length) => {
    for (const word of words(length)) {
      const sent = `${word}\r\n.\r\nNOOP\r\n`
      const expected = meant(sent)
      const octets = sent.split('')
      const cuts = octets.map((_, at) => [sent.slice(0, at), sent.slice(at)].filter((piece) => piece !== ''))
      for (const pieces of [...cuts, octets])
        expect({ pieces, ...(await read(pieces)) }).toEqual({ pieces, ...expected })
    }
  },
)

/** What a client means that ends its lines with LF alone. */
function meantOfLines(sent: string): Read {
  const end = /(?:^|\n)(?=\.\r?\n)/.exec(sent)!
  const data = sent.slice(0, end.index + end[0].length)
  const rest = sent.slice(data.length).replace(/^\.\r?\n/, '')
  return {
    data: data.replace(/(^|\n)\.\./g, '$1.').replace(/\r*\n/g, '\r\n'),
    commands: rest.split(/\r?\n/).slice(0, -1),
  }
}

test.each([0, 1, 2, 3, 4])(
  'a client that never sends a CR ends its data of any %d octets by a line that is a dot',
  async (length) => {
    for (const word of words(length)) {
      const sent = `${word}\n.\nNOOP\n`
      const expected = meantOfLines(sent)
      const octets = sent.split('')
      const cuts = octets.map((_, at) => [sent.slice(0, at), sent.slice(at)].filter((piece) => piece !== ''))
      for (const pieces of [...cuts, octets])
        expect({ pieces, ...(await read(pieces, 'DATA\n')) }).toEqual({ pieces, ...expected })
    }
  },
)

test.each([
  [['HELO x\nDATA\nx\n.\nQUIT\r\n']],
  [['HELO x\nDA', 'TA\nx\n.\nQUIT\r\n']],
  [['HELO x\nDATA\nx\r\n.\n', 'QUIT\r\n']],
])('a CR behind DATA says nothing of how a client ends its commands: %j', async (pieces) => {
  const [first = '', ...others] = pieces
  expect(await read(others, first, 2)).toEqual({ data: 'x\r\n', commands: ['DATA', 'QUIT'] })
})

test('one command with a CR, and bare line feeds end no data of that client any more', async () => {
  const pieces = ['a\n.\nMAIL FROM:<smuggled@there.example>\n', '\r\n.\r\n']
  const { data, commands } = await read(pieces, 'DATA\r\n')
  expect(data).toBe('a\n.\nMAIL FROM:<smuggled@there.example>\n\r\n')
  expect(commands).toEqual([])
})
