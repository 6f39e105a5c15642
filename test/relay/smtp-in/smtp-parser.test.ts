/** The data of a message, and what stands behind it, in whatever pieces they come. */
import { expect, test } from 'vitest'
import { Parser } from '../../../src/relay/smtp-in/smtp-parser.js'

interface Read {
  readonly data: string
  readonly commands: readonly string[]
}

async function read(pieces: readonly string[]): Promise<Read> {
  const parser = new Parser()
  const commands: string[] = []
  let data = ''
  parser.oncommand = (command, done = () => undefined) => {
    commands.push(command.toString())
    if (commands.length === 1) {
      const stream = parser.startDataMode(0)
      stream.on('data', (piece: Buffer) => (data += piece.toString()))
      stream.on('end', () => parser.continue())
    }
    done()
  }
  parser.write('DATA\r\n')
  for (const piece of pieces) parser.write(piece)
  await new Promise((resolve) => parser.end(resolve))
  return { data, commands: commands.slice(1) }
}

/** The same of all at once, by the words of RFC 5321 §4.5.2. */
function meant(sent: string): Read {
  const end = /(?:^|\r\n)(?=\.\r\n)/.exec(sent)!
  const data = sent.slice(0, end.index + end[0].length)
  const rest = sent.slice(data.length + '.\r\n'.length)
  return {
    data: data.replace(/(^|\n)\.\./g, '$1.'),
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
