/** `npm run crash:real`: the promises on real files, in a real process, with real kills. Exits 0 if
 * nothing was wrong; a part that cannot run here is skipped, with the reason. */
import { endWithReader } from './commands/text/output.js'
import { diskFull } from './crash-real/full.js'
import { killLoop } from './crash-real/kill.js'
import { powerCuts } from './crash-real/power.js'
import type { CaseResult, Run } from './crash-real/session.js'
import { failingCalls } from './crash-real/strace.js'
import { summaryOf, tableOf, wrongsOf } from './crash-real/table.js'
import { Undo } from './crash-real/undo.js'
import { saidArguments } from './said-arguments.js'

const parts: Readonly<Record<string, (run: Run) => Promise<CaseResult[]>>> = {
  kill: killLoop,
  power: powerCuts,
  strace: failingCalls,
  full: diskFull,
}
const cyclesMax = 1_000_000

const usage = `usage: npm run crash:real -- [--cycles N] [--seed S] [--only ${Object.keys(parts).join('|')}] [--json]

  --cycles N  crashes of each kind (20); a disk is filled once for each way to fill it
  --seed S    what is sent and when it is killed (1); the machine adds its own timing
  --only P    one part; may be given several times
  --json      the results and the summary as one JSON document
`

async function main(): Promise<number> {
  const { values } = saidArguments(usage, {
    options: {
      cycles: { type: 'string', default: '20' },
      seed: { type: 'string', default: '1' },
      only: { type: 'string', multiple: true, default: Object.keys(parts) },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  const cycles = Number(values.cycles)
  const seed = Number(values.seed)
  const isValid = Number.isInteger(cycles) && cycles >= 1 && cycles <= cyclesMax && Number.isSafeInteger(seed)
  if (values.help || !isValid || !values.only.every((part) => Object.hasOwn(parts, part))) {
    process.stderr.write(usage)
    return values.help ? 0 : 2
  }
  const undo = new Undo()
  const isTerminal = process.stderr.isTTY
  const progress = (text: string): void => {
    if (isTerminal) process.stderr.write(`\r\x1b[K${text}`)
  }
  const startedAt = performance.now()
  const results: CaseResult[] = []
  try {
    for (const part of values.only) results.push(...(await parts[part]!({ undo, seed, cycles, progress })))
  } finally {
    undo.all()
  }
  progress('')
  const summary = summaryOf(results, (performance.now() - startedAt) / 1000)
  if (values.json) process.stdout.write(`${JSON.stringify({ seed, results, summary }, null, 2)}\n`)
  else
    process.stdout.write(
      `${tableOf(results)}\n\n${wrongsOf(results)}seed=${seed} ${Object.entries(summary)
        .map(([key, value]) => `${key}=${value}`)
        .join(' ')}\n`,
    )
  return summary.violations === 0 ? 0 : 1
}

endWithReader()
process.exitCode = await main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
  return 2
})
