/** One command of `waybill` in a separate process: `child NAME ARGUMENT …`.
 * Its output is counted; its cost is printed as one line of JSON. */
import { parseArguments, type Arguments, type Command } from '../../tools/commands/cli/command.js'
import { processSurroundings, type Surroundings } from '../../tools/commands/text/output.js'

export interface Inspection {
  readonly wallMs: number
  readonly cpuMs: number
  /** The most that was resident at once. */
  readonly rssMostBytes: number
  readonly printedBytes: number
}

type Runnable = Command & { runIn(args: Arguments, surroundings: Surroundings): Promise<number> }

const commands: Readonly<Record<string, () => Promise<Runnable>>> = {
  fill: async () => (await import('../../tools/commands/fill/fill.js')).fill,
  mailq: async () => (await import('../../tools/commands/look/mailq.js')).mailq,
  qshape: async () => (await import('../../tools/commands/look/qshape.js')).qshape,
  stat: async () => (await import('../../tools/commands/look/stat.js')).stat,
  'log stat': async () => (await import('../../tools/commands/look/log-stat.js')).logStat,
  'log verify': async () => (await import('../../tools/commands/look/log-verify.js')).logVerify,
}

const [name, ...args] = process.argv.slice(2)
const startedAt = performance.now()
const command = await commands[name!]!()
let printedBytes = 0
const exitCode = await command.runIn(parseArguments(command, args), {
  ...processSurroundings(),
  write: async (text) => void (printedBytes += Buffer.byteLength(text)),
})
const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage()
const inspection: Inspection = {
  wallMs: performance.now() - startedAt,
  cpuMs: (userCPUTime + systemCPUTime) / 1000,
  rssMostBytes: maxRSS * 1024,
  printedBytes,
}
console.log(JSON.stringify(inspection))
process.exitCode = exitCode
