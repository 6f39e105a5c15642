/** One life of the queue in a separate process, and its trace.
 * Invariant: when `gone` resolves, the child has ended and all its lines are read. No child
 * outlives the run. */
import { spawn, type ChildProcessByStdio } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { Ledger } from './ledger.js'
import { lineReader, type TraceLine } from './trace.js'
import type { Undo } from './undo.js'
import type { WorkerTask } from './worker-task.js'

/** The same for the built program and for tests that run the sources. */
const workerPath: string = fileURLToPath(
  import.meta.url.endsWith('.ts')
    ? new URL('../../dist/tools/crash-real/worker.js', import.meta.url)
    : new URL('./worker.js', import.meta.url),
)
const errorBytesMax = 4000

export interface ChildOptions {
  readonly undo: Undo
  readonly ledger: Ledger
  readonly task: WorkerTask
  /** Put before the command line: a tracer. */
  readonly prefix?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

export class Child {
  readonly lines: TraceLine[] = []
  /** Resolves with its exit code or the signal that ended it. */
  readonly gone: Promise<number | string>
  readonly #process: ChildProcessByStdio<Writable, Readable, Readable>
  readonly #watchers = new Set<() => void>()
  #isGone = false
  /** The end of what it wrote to standard error. */
  #errors = ''

  constructor({ undo, ledger, task, prefix = [], environment = {} }: ChildOptions) {
    const [program, ...args] = [...prefix, process.execPath, workerPath, JSON.stringify(task)]
    // A separate process group, so that a tracer dies with its child.
    this.#process = spawn(program!, args, {
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
      env: { ...process.env, ...environment },
    })
    const killed = undo.add(() => this.kill())
    ledger.beginLife()
    const read = lineReader((line) => {
      this.lines.push(line)
      ledger.absorb(line)
    })
    this.#process.stdin.on('error', () => undefined)
    this.#process.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      read(chunk)
      this.#look()
    })
    this.#process.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      this.#errors = (this.#errors + chunk).slice(-errorBytesMax)
    })
    this.gone = new Promise((resolve, reject) => {
      this.#process.once('error', reject)
      this.#process.once('close', (code, signal) => {
        this.#isGone = true
        killed()
        ledger.endLife()
        this.#look()
        resolve(code ?? signal ?? 'unknown')
      })
    })
  }

  get isGone(): boolean {
    return this.#isGone
  }

  get errors(): string {
    return this.#errors
  }

  /** Its first line of this kind. */
  line<K extends TraceLine['kind']>(kind: K): Extract<TraceLine, { kind: K }> | undefined {
    return this.lines.find((line): line is Extract<TraceLine, { kind: K }> => line.kind === kind)
  }

  /** Waits until it holds or the child is gone. Resolves with whether it holds. */
  async until(holds: () => boolean, timeoutMs: number): Promise<boolean> {
    if (holds() || this.#isGone) return holds()
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer)
        this.#watchers.delete(watch)
        resolve()
      }
      const timer = setTimeout(end, timeoutMs)
      const watch = (): void => {
        if (holds() || this.#isGone) end()
      }
      this.#watchers.add(watch)
    })
    return holds()
  }

  say(text: string): void {
    this.#process.stdin.write(`${text}\n`)
  }

  /** SIGKILL to it and its tracer. */
  kill(): void {
    const { pid } = this.#process
    if (this.#isGone || pid === undefined) return
    try {
      process.kill(-pid, 'SIGKILL')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }

  #look(): void {
    for (const watch of Array.from(this.#watchers)) watch()
  }
}
