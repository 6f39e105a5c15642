/** Commands of `waybill` that read a whole queue: how long they take, and the memory that they
 * need. Each is a new process. */
import { spawn } from 'node:child_process'
import { waybillPath } from '../machine.js'
import type { Row } from '../output.js'

const mebibyte = 1024 * 1024

/** By what is shown of them. */
const commands: Readonly<Record<string, readonly string[]>> = {
  mailq: ['mailq'],
  'mailq --limit 100': ['mailq', '--limit', '100'],
  'mailq, a selector without match': ['mailq', '--sender', 'nobody@example.invalid'],
  qshape: ['qshape'],
  stat: ['stat'],
}

/** At its end the process tells its peak in kibibytes. */
const tellsPeak = `data:text/javascript,${encodeURIComponent(`
  import { writeSync } from 'node:fs'
  process.on('exit', () => writeSync(3, String(process.resourceUsage().maxRSS)))
`)}`

export interface Timed {
  readonly firstMs: number
  readonly allMs: number
  readonly peakBytes: number
}

/** The time to the first output, and to the end. @throws Error when the command fails */
export async function timed(args: readonly string[], directory: string): Promise<Timed> {
  const startedAt = performance.now()
  const command = ['--import', tellsPeak, waybillPath(), ...args, '--queue', directory]
  const child = spawn(process.execPath, command, {
    stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
  })
  let firstMs: number | undefined
  child.stdout!.on('data', () => (firstMs ??= performance.now() - startedAt))
  let peak = ''
  child.stdio[3]!.on('data', (piece: Buffer) => (peak += piece.toString()))
  const code = await new Promise((resolve) => child.once('close', resolve))
  if (code !== 0) throw new Error(`waybill ${args.join(' ')} ended with ${String(code)}`)
  const allMs = performance.now() - startedAt
  return { firstMs: firstMs ?? allMs, allMs, peakBytes: Number(peak) * 1024 }
}

/** A row for each command. */
export async function commandRows(count: number, directory: string): Promise<Row[]> {
  const rows: Row[] = []
  for (const [command, args] of Object.entries(commands)) {
    const { firstMs, allMs, peakBytes } = await timed(args, directory)
    rows.push({
      deferred: count,
      command,
      'first ms': firstMs,
      'all ms': allMs,
      'peak MiB': peakBytes / mebibyte,
    })
  }
  return rows
}
