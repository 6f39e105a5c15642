/** The command as a separate process. */
import { spawn, type ChildProcess } from 'node:child_process'
import { waybillPath } from '../end-to-end/relay-process.js'

export interface Ended {
  /** null when a signal ended it. */
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Surroundings {
  readonly directory: string
  readonly input?: string | Buffer
  /** Its input stays open, for a test that answers its questions. */
  readonly keepsInput?: true
  readonly environment?: Readonly<Record<string, string>>
  /** Told of each piece of its output. */
  readonly onOutput?: (child: ChildProcess, stdout: string, stderr: string) => void
}

/** A program that is not waybill, or waybill through another program. */
export function runProgram(
  program: string,
  args: readonly string[],
  { directory, input = '', keepsInput, environment = {}, onOutput }: Surroundings,
): Promise<Ended> {
  const child = spawn(program, args, { cwd: directory, env: { ...process.env, ...environment } })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString()
    onOutput?.(child, stdout, stderr)
  })
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString()
    onOutput?.(child, stdout, stderr)
  })
  child.stdin.on('error', () => {})
  if (keepsInput !== true) child.stdin.end(input)
  return new Promise((resolve) => child.once('close', (exitCode) => resolve({ exitCode, stdout, stderr })))
}

export const runWaybill = (args: readonly string[], surroundings: Surroundings): Promise<Ended> =>
  runProgram(process.execPath, [waybillPath, ...args], surroundings)
