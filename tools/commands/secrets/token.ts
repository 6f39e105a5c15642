/** `waybill token`: a token for the HTTP API, and the line by which `serve --http-tokens` knows it.
 * Invariant: the token is shown once and stored nowhere; the file has its hash. */
import { newToken, isTokenName, scopes, scopesIn, tokenLine } from '../../../src/http/wire/tokens.js'
import { oneOperand, UsageError, type Arguments, type Command } from '../cli/command.js'
import { parseDurationOption } from '../cli/values.js'
import { print } from '../text/output.js'
import { replaceLine } from './replaced-line.js'

export const token: Command = {
  synopsis: '[--file FILE] [--scopes LIST] [--for TIME] NAME',
  options: {
    file: {
      value: 'FILE',
      help: 'put the line into this file, in the place of the one that NAME has there; a file that is made has mode 0600\n(print it behind the token)',
    },
    scopes: {
      value: 'LIST',
      help: `what it allows, of ${scopes.join(', ')}, with commas: figures, queue and outcomes; what messages\nsay; new mail; verbs (read)`,
    },
    for: { value: 'TIME', help: 'how long it is good, such as 90d (for ever)' },
  },
  operands: true,
  notes:
    'The token is printed once, and nobody can read it from the file. Clients send it as `Authorization: Bearer TOKEN`.\n' +
    'A relay that runs knows it after `waybill reload`. Exit codes: 0 printed, 2 usage.',
  run,
}

async function run(args: Arguments): Promise<number> {
  const name = oneOperand(args, 'NAME')
  if (!isTokenName(name))
    throw new UsageError(`'${name}' is no NAME: at most 64 letters, digits, and . _ @ + -`)
  const given = scopesIn(args.one('scopes') ?? 'read', (reason) => new UsageError(`--scopes: ${reason}`))
  const time = args.one('for')
  const expiresAt = time === undefined ? undefined : Date.now() + parseDurationOption('for', time)
  const text = newToken()
  const line = tokenLine(text, { name, scopes: given, expiresAt })
  const file = args.one('file')
  if (file === undefined) return print(`${text}\n${line}\n`)
  await replaceLine(file, `${name} `, line)
  return print(`${text}\n`)
}
