/** What a command writes, in pieces that a pipe can take.
 * Invariant: a reader that goes away (`| head`) ends the command quietly, and nothing else does:
 * output that is cut short by a full disk is a failure. A slow reader is waited for, so memory
 * stays bounded. What a terminal could take for an order leaves a program's output escaped, too:
 * people look at that as well. */
import type { Disk } from '../../../src/disk/disk.js'
import { openQueueDisk } from '../cli/queue-disk.js'
import { complaint, escapedJson, harmless } from './shown-text.js'

/** What a command finds around it, so that a test can be around it instead. */
export interface Surroundings {
  /** Standard output. Resolves when it has taken the text; rejects with `OutputClosed`, or with the
   * system's error. */
  readonly write: (text: string) => Promise<void>
  /** Standard error. */
  readonly complain: (text: string) => void
  readonly nowMs: () => number
  /** Of standard output, and of standard error. */
  readonly isTerminal: boolean
  readonly complainsToTerminal: boolean
  readonly openDisk: (path: string) => Disk
  /** Asked to stop. From when it is first looked at, Ctrl-C ends nothing by itself. */
  readonly stopped: AbortSignal
}

/** Nobody reads on. */
export class OutputClosed extends Error {
  override readonly name = 'OutputClosed'
}

const pieceLengthMax = 64 * 1024

export class Output {
  readonly #surroundings: Pick<Surroundings, 'write'>
  #piece = ''

  constructor(surroundings: Pick<Surroundings, 'write'>) {
    this.#surroundings = surroundings
  }

  text(text: string): void {
    this.#piece += harmless(text)
  }

  line(text: string): void {
    this.#piece += `${harmless(text)}\n`
  }

  json(value: unknown): void {
    this.#piece += `${escapedJson(JSON.stringify(value))}\n`
  }

  /** There is enough for a piece: `flush` should be awaited. */
  get isFull(): boolean {
    return this.#piece.length >= pieceLengthMax
  }

  async flush(): Promise<void> {
    const piece = this.#piece
    this.#piece = ''
    if (piece !== '') await this.#surroundings.write(piece)
  }
}

/** The process itself. */
export function processSurroundings(): Surroundings {
  const stop = new AbortController()
  let isHeard = false
  const hear = (): void => {
    if (isHeard) return
    isHeard = true
    process.once('SIGINT', () => {
      stop.abort()
      process.exitCode = 130
    })
  }
  // Without a listener the error of a closed pipe would end the process with a trace.
  process.stdout.on('error', () => stop.abort())
  return {
    write: (text) =>
      new Promise((resolve, reject) => {
        process.stdout.write(text, (error) => {
          if (!error) resolve()
          else reject(isClosed(error) ? new OutputClosed() : error)
        })
      }),
    complain: (text) => void process.stderr.write(complaint(text)),
    nowMs: () => Date.now(),
    isTerminal: process.stdout.isTTY === true,
    complainsToTerminal: process.stderr.isTTY === true,
    openDisk: openQueueDisk,
    get stopped() {
      hear()
      return stop.signal
    },
  }
}

const isClosed = (error: NodeJS.ErrnoException): boolean => error.code === 'EPIPE'

/** For a command that has one thing to say. @returns its exit code */
export async function print(
  text: string,
  { write }: Pick<Surroundings, 'write'> = processSurroundings(),
): Promise<number> {
  try {
    await write(text)
  } catch (error) {
    if (!(error instanceof OutputClosed)) throw error
  }
  return 0
}

/** For a tool that writes as it goes: it ends as soon as nobody reads on, with the exit code that
 * is set by then. What is to be undone at its end listens to `exit`. */
export function endWithReader(): void {
  process.stdout.on('error', (error) => {
    if (!isClosed(error)) throw error
    process.exit()
  })
}
