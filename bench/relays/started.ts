/** A process that a bench started.
 * Invariant: it ends before its bench, by its own handle, never by name. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'

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

/** The port of `listening on ADDRESS:PORT`, as soon as the program has said it.
 * @throws Error after 30 s, with its output */
export async function listeningPort(log: string): Promise<number> {
  for (let i = 0; i < 600; i++) {
    const match = /^listening on .*:(\d+)$/m.exec(readFileSync(log, 'utf8'))
    if (match !== null) return Number(match[1])
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`the program does not listen: ${readFileSync(log, 'utf8')}`)
}
