/** Writes a command's output in pieces.
 * Invariant: only a reader that leaves (`| head`) ends the command quietly; output cut by a full
 * disk is a failure. A slow reader is waited for, so memory is bounded. Control characters are
 * escaped in output for programs, too, because people look at it. */
import type { Disk } from '../../../src/disk/disk.js'
import { openQueueDisk } from '../cli/queue-disk.js'
import { complaint, escapedJson, harmless } from './shown-text.js'

/** The surroundings of a command, which a test can replace. */
export interface Surroundings {
  /** Standard output. Resolves when it has taken the text, or bytes of one; rejects with
   * `OutputClosed`, or with the system's error. */
  readonly write: (text: string | Buffer) => Promise<void>
  /** Standard error. */
  readonly complain: (text: string) => void
  readonly nowMs: () => number
  /** Of standard output, and of standard error. */
  readonly isTerminal: boolean
  readonly complainsToTerminal: boolean
  readonly openDisk: (path: string) => Disk
  /** Asked to stop. After the first look at it, Ctrl-C does not end the process. */
  readonly stopped: AbortSignal
}

/** The reader has left. */
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

  /** What is written next begins at the top of an empty terminal. */
  clearScreen(): void {
    this.#piece += '\x1b[H\x1b[J'
  }

  /** UTF-8, printable text and ends of lines: the caller has looked for anything else. The bytes
   * may change when it resolves. */
  async checked(bytes: Buffer): Promise<void> {
    if (bytes.length < pieceLengthMax) {
      this.text(bytes.toString())
      if (this.isFull) await this.flush()
    } else {
      await this.flush()
      await this.#surroundings.write(bytes)
    }
  }

  /** A piece is full: `flush` should be awaited. */
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

/** For a command with one output. @returns its exit code */
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

/** For a tool that writes continuously: it ends when the reader leaves, with the exit code set by
 * then. Cleanup listens to `exit`. */
export function endWithReader(): void {
  process.stdout.on('error', (error) => {
    if (!isClosed(error)) throw error
    process.exit()
  })
}
