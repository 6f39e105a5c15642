/** Runs a command in this process, on files in memory or on those of a disk. */
import { parseArguments } from '../../tools/commands/cli/command.js'
import type { InspectCommand } from '../../tools/commands/look/inspection.js'
import type { Surroundings } from '../../tools/commands/text/output.js'
import type { Disk } from '../../src/disk/disk.js'

export interface Commanded {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

export async function command(
  inspect: InspectCommand,
  args: readonly string[],
  disk: (path: string) => Disk,
  nowMs: number,
  stopped: AbortSignal = AbortSignal.abort(),
): Promise<Commanded> {
  let stdout = ''
  let stderr = ''
  const surroundings: Surroundings = {
    write: async (text) => void (stdout += text),
    complain: (text) => void (stderr += text),
    nowMs: () => nowMs,
    isTerminal: false,
    complainsToTerminal: false,
    openDisk: disk,
    stopped,
  }
  const exitCode = await inspect.runIn(parseArguments(inspect, args), surroundings)
  return { exitCode, stdout, stderr }
}

/** Damage as `--json` tells it. */
export interface Told {
  readonly log: string
  readonly segment?: number
  readonly offset?: number
  readonly bytes: number
  readonly reason: string
}

export const damagesIn = ({ stdout }: Commanded): Told[] =>
  stdout
    .trim()
    .split('\n')
    .flatMap((line) => (JSON.parse(line) as { damage?: Told }).damage ?? [])
