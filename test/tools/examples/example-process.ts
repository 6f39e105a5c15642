/** An example of tools/examples as a process that listens. */
import { spawn, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished } from 'vitest'

export interface ExampleProcess {
  readonly url: string
  /** Kills it, and waits until it is gone. */
  readonly kill: () => Promise<void>
}

export async function exampleProcess(
  name: string,
  environment: Readonly<Record<string, string>>,
): Promise<ExampleProcess> {
  const path = fileURLToPath(new URL(`../../../tools/examples/${name}`, import.meta.url))
  const child: ChildProcess = spawn(process.execPath, [path], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await ended
  }
  onTestFinished(kill)
  let printed = ''
  child.stdout!.on('data', (piece: Buffer) => (printed += piece.toString()))
  await expect.poll(() => printed).toMatch(/^listening on \S+$/m)
  return { url: /^listening on (\S+)$/m.exec(printed)![1]!, kill }
}
