/** `npm run conformance -- [DIR]`: replays every *.json (or *.json.gz) of a directory through the
 * Scheduler and compares all events and all state sections. Prints the first difference of each
 * failing file, then `N passed, N failed`; exits 0 only if none failed. */
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { isError } from '../src/base/realms.js'
import { endWithReader } from './commands/text/output.js'
import { replay, type Trace } from './conformance-replay.js'
import { refuseArguments, saidArguments } from './said-arguments.js'

const usage = `usage: npm run conformance -- [DIR]

  DIR  traces, *.json or *.json.gz (those of Postfix, in test/conformance/nqmgr)
`
const ownTraces = fileURLToPath(new URL('../../test/conformance/nqmgr', import.meta.url))

function check(path: string): string | undefined {
  const bytes = readFileSync(path)
  const trace = JSON.parse((path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString()) as Trace
  const difference = replay(trace)
  if (difference === undefined) return undefined
  const { at, what, recorded, ours } = difference
  return `event ${at}: ${what}\n  recorded ${JSON.stringify(recorded)}\n  ours     ${JSON.stringify(ours)}`
}

/** @returns the exit status */
export function conformance(directory: string, print: (line: string) => void): number {
  const files = readdirSync(directory)
    .filter((name) => /\.json(\.gz)?$/.test(name))
    .sort()
  let failed = 0
  for (const file of files) {
    let problem: string | undefined
    try {
      problem = check(join(directory, file))
    } catch (error) {
      problem = isError(error) ? (error.stack ?? error.message) : String(error)
    }
    if (problem === undefined) continue
    failed++
    print(`${file}: ${problem}`)
  }
  print(`${files.length - failed} passed, ${failed} failed`)
  return failed === 0 && files.length > 0 ? 0 : 1
}

function main(): number {
  const { values, positionals } = saidArguments(usage, {
    options: { help: { type: 'boolean', default: false } },
    allowPositionals: true,
  })
  if (values.help) {
    process.stdout.write(usage)
    return 0
  }
  const [directory = ownTraces, second] = positionals
  if (second !== undefined) refuseArguments(usage, `one directory: '${second}' is another`)
  if (!existsSync(directory)) refuseArguments(usage, `there is no directory ${directory}`)
  return conformance(directory, (line) => process.stdout.write(`${line}\n`))
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  endWithReader()
  process.exitCode = main()
}
