/** The relay as a separate process, which can be killed at any moment. */
import { spawn, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { laySmallQueue } from './laid-queue.js'

export const waybillPath: string = fileURLToPath(new URL('../../dist/bundle/waybill.js', import.meta.url))

/** `{ queue: 'q' }` → `--queue q`. */
export const argsOf = (options: Readonly<Record<string, string>>): string[] =>
  Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])

export interface RelayProcessOptions {
  /** Where there is none, the relay makes its queue. Default: it finds one of small segments, if it
   * is started with `--queue`. */
  readonly makesQueue?: boolean
  /** With `--listen`; the default. */
  readonly listens?: boolean
}

export class RelayProcess {
  readonly #args: readonly string[]
  readonly #environment: Readonly<Record<string, string>>
  readonly #makesQueue: boolean
  readonly #listens: boolean
  #child: ChildProcess | undefined
  #exited: Promise<void> = Promise.resolve()
  /** Where it listens, the same in every life. */
  endpoint: { host: string; port: number } = { host: '127.0.0.1', port: 0 }
  /** What the last life wrote to standard error. */
  log = ''
  /** What it wrote to standard output. */
  output = ''

  /** @param args of `waybill serve`, without `--listen` */
  constructor(
    args: readonly string[],
    environment: Readonly<Record<string, string>> = {},
    { makesQueue = false, listens = true }: RelayProcessOptions = {},
  ) {
    this.#listens = listens
    this.#args = args
    this.#environment = environment
    this.#makesQueue = makesQueue
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** Starts it. Resolves when it listens, or when it has ended before: a kill may come first. */
  async start(): Promise<void> {
    const { host, port } = this.endpoint
    const named = this.#args.indexOf('--queue')
    if (named >= 0 && !this.#makesQueue) laySmallQueue(this.#args[named + 1]!)
    const child = spawn(
      process.execPath,
      [waybillPath, 'serve', ...(this.#listens ? ['--listen', `${host}:${port}`] : []), ...this.#args],
      {
        env: { ...process.env, ...this.#environment },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    )
    this.#child = child
    this.log = ''
    this.#exited = new Promise((resolve) => child.once('exit', () => resolve()))
    child.stderr.on('data', (chunk: Buffer) => {
      this.log = (this.log + chunk.toString()).slice(-100_000)
    })
    this.output = ''
    await new Promise<void>((resolve) => {
      child.once('exit', () => resolve())
      child.stdout.on('data', (chunk: Buffer) => {
        this.output += chunk.toString()
        const match = /^listening on (\S+):(\d+)$/m.exec(this.output)
        if (match === null) return
        this.endpoint = { host: match[1] ?? host, port: Number(match[2]) }
        resolve()
      })
    })
  }

  /** Ends it as a power failure of the process would. Resolves when it is gone. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.#child?.kill(signal)
    await this.#exited
  }

  /** Its exit code or signal, once it has ended by itself. */
  async exit(): Promise<number | NodeJS.Signals | null> {
    await this.#exited
    return this.#child?.exitCode ?? this.#child?.signalCode ?? null
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null
  }
}

/** It listens, or has ended; it is killed when the test has ended. */
export async function startedRelay(
  ...process: ConstructorParameters<typeof RelayProcess>
): Promise<RelayProcess> {
  const relay = new RelayProcess(...process)
  onTestFinished(() => relay.kill())
  await relay.start()
  return relay
}
