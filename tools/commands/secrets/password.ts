/** `waybill password`: a line for the file of `serve --auth`.
 * Invariant: the password is never an argument, where every user of the machine could read it, and
 * never on a screen. */
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { formatHash, hashOf } from '../../../src/relay/tables/password-hash.js'
import { isUserName, nameLengthMax } from '../../../src/relay/tables/users.js'
import { oneOperand, UsageError, type Arguments, type Command } from '../cli/command.js'
import { print } from '../text/output.js'
import { replaceLine } from './replaced-line.js'

export const password: Command = {
  synopsis: '[--file FILE] NAME',
  options: {
    file: {
      value: 'FILE',
      help: 'put the line into this file, in the place of the one that NAME has there; a file that is made has mode 0600\n(print it)',
    },
  },
  operands: true,
  notes:
    'The password is asked for on a terminal, and otherwise read from standard input, one line. What is printed is NAME and a\n' +
    'hash (scrypt), for the file that `serve --auth` reads at its start and at a `waybill reload`. Exit codes: 0 printed,\n' +
    '1 no password, 2 usage.',
  run,
}

/** Mail programs, and a line of AUTH, have shorter bounds. */
const passwordBytesMax = 1024

async function run(args: Arguments): Promise<number> {
  const name = oneOperand(args, 'NAME')
  if (!isUserName(name))
    throw new UsageError(
      `'${name}' is no NAME: at most ${nameLengthMax} characters, no blank, no colon, and no # before it`,
    )
  const text = process.stdin.isTTY ? await askedTwice() : await lineOfInput()
  if (Buffer.byteLength(text) > passwordBytesMax)
    throw new Error(`a password has at most ${passwordBytesMax} bytes`)
  // NUL parts the password from the name (RFC 4616), and a line has no others either.
  if (!/^[^\p{Cc}\ufffd]+$/u.test(text))
    throw new Error('a password is one line of UTF-8 that is not empty, without control characters')
  const line = `${name}:${formatHash(await hashOf(text))}`
  const file = args.one('file')
  if (file === undefined) return print(`${line}\n`)
  await replaceLine(file, `${name}:`, line)
  return 0
}

async function lineOfInput(): Promise<string> {
  let bytes = Buffer.alloc(0)
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    bytes = Buffer.concat([bytes, chunk])
    if (bytes.length > passwordBytesMax + 2) break
  }
  return bytes.toString().replace(/\r?\n$/, '')
}

/** What is typed goes nowhere; the questions go to standard error, for standard output
 * may be the file. */
async function askedTwice(): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const terminal = createInterface({ input: process.stdin, output: nowhere, terminal: true, historySize: 0 })
  //    1. Ctrl-Z, and `fg`
  //    2. readline reads no more, and the process ends
  //    3. the password is typed to the shell, which shows and keeps it
  terminal.on('SIGTSTP', () => {})
  const lines = terminal[Symbol.asyncIterator]()
  const answerTo = async (question: string): Promise<string> => {
    process.stderr.write(question)
    const line = await lines.next()
    process.stderr.write('\n')
    if (line.done === true) throw new Error('there is no password')
    return line.value
  }
  try {
    const first = await answerTo('Password: ')
    if ((await answerTo('Again: ')) !== first) throw new Error('these are two passwords')
    return first
  } finally {
    terminal.close()
  }
}
