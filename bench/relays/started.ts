/** A process that a bench started.
 * Invariant: it ends before its bench, by its own handle, never by name. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'

export interface StartedProcess {
  readonly child: ChildProcess
  readonly processId: number
  /** SIGTERM, and settles when it has ended. */
  stop(): Promise<void>
}

/** @param outputPath file for its output */
export async function started(
  command: string,
  args: readonly string[],
  outputPath: string,
): Promise<StartedProcess> {
  const output = openSync(outputPath, 'a')
  const child = spawn(command, args, { stdio: ['ignore', output, output] })
  closeSync(output)
  await once(child, 'spawn')
  const endWithUs = (): void => void child.kill('SIGKILL')
  process.once('exit', endWithUs)
  return {
    child,
    processId: child.pid!,
    stop: async () => {
      process.off('exit', endWithUs)
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    },
  }
}
