/** `npm run conformance -- DIR`: replays every *.json (or *.json.gz) of a directory through the
 * Scheduler and compares all events and all state sections. Prints the first difference of each
 * failing file, then `N passed, N failed`; exits 0 only if none failed. */
import { readdirSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { endWithReader } from './commands/text/output.js'
import { replay, type Trace } from './conformance-replay.js'

function check(path: string): string | undefined {
  const bytes = readFileSync(path)
  const trace = JSON.parse((path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString()) as Trace
  const difference = replay(trace)
  if (difference === undefined) return undefined
  const { at, what, recorded, ours } = difference
  return `event ${at}: ${what}\n  recorded ${JSON.stringify(recorded)}\n  ours     ${JSON.stringify(ours)}`
}

/** @returns the exit status */
export function conformance(directory: string | undefined, print: (line: string) => void): number {
  if (directory === undefined) {
    print('usage: conformance DIR')
    return 2
  }
  const files = readdirSync(directory)
    .filter((name) => /\.json(\.gz)?$/.test(name))
    .sort()
  let failed = 0
  for (const file of files) {
    let problem: string | undefined
    try {
      problem = check(join(directory, file))
    } catch (error) {
      problem = error instanceof Error ? (error.stack ?? error.message) : String(error)
    }
    if (problem === undefined) continue
    failed++
    print(`${file}: ${problem}`)
  }
  print(`${files.length - failed} passed, ${failed} failed`)
  return failed === 0 && files.length > 0 ? 0 : 1
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  endWithReader()
  process.exitCode = conformance(process.argv[2], (line) => process.stdout.write(`${line}\n`))
}
