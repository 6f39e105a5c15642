/** One connection over the control socket, the same at both ends: lines in, lines out.
 * Invariant: memory is bounded in both directions. Lines that are not taken stop the reading;
 * `send` waits for the reader, and closes the connection of one that takes nothing for `stallMs`.
 * When the other side has ended, or the line was lost, `gone` is aborted. */
import type { Duplex } from 'node:stream'
import type { Clock } from '../base/clock.js'
import { LineSplitter } from './lines.js'

/** Lines that may wait to be taken. */
const waitingCountMax = 64

/** A socket, or a call through a store. */
export type ControlStream = Duplex & {
  /** Closes when what was written has been sent. */
  destroySoon(): void
}

export interface ChannelBounds {
  readonly lineBytesMax: number
  readonly clock: Clock
  /** How long the other side may leave sent lines unread. */
  readonly stallMs: number
}

export class ControlChannel {
  readonly #socket: ControlStream
  readonly #bounds: ChannelBounds
  readonly #lines: string[] = []
  #taker: ((line: string | undefined) => void) | undefined
  readonly #gone = new AbortController()
  #error: unknown

  constructor(socket: ControlStream, bounds: ChannelBounds) {
    this.#socket = socket
    this.#bounds = bounds
    const splitter = new LineSplitter(bounds.lineBytesMax)
    socket.on('data', (piece: Buffer) => {
      try {
        for (const line of splitter.take(piece)) this.#arrived(line)
      } catch (error) {
        this.#error ??= error
        socket.pause()
        this.#ended()
      }
    })
    socket.on('end', () => this.#ended())
    socket.on('error', (error) => {
      this.#error ??= error
      this.#ended()
    })
    socket.on('close', () => this.#ended())
  }

  /** Aborted when the other side has ended, or is lost. */
  get gone(): AbortSignal {
    return this.#gone.signal
  }

  /** Why it ended: a line that was too long, or the system's error. undefined if the other
   * side just left. */
  get error(): unknown {
    return this.#error
  }

  /** The last sent lines have not been read yet. */
  get isFull(): boolean {
    return this.#socket.writableNeedDrain
  }

  /** The next line; undefined when there will be none. One call at a time. */
  next(): Promise<string | undefined> {
    const line = this.#lines.shift()
    if (line !== undefined) {
      if (this.#lines.length < waitingCountMax) this.#socket.resume()
      return Promise.resolve(line)
    }
    if (this.#gone.signal.aborted) return Promise.resolve(undefined)
    return new Promise((resolve) => (this.#taker = resolve))
  }

  /** Settles when there is room for more, or when the other side has left. */
  async send(line: string): Promise<void> {
    const { clock, stallMs } = this.#bounds
    if (!this.#socket.writable || this.#socket.write(line)) return
    await new Promise<void>((resolve) => {
      const timer = clock.after(stallMs, () => this.destroy())
      const done = (): void => {
        timer.cancel()
        this.#socket.off('drain', done)
        this.#socket.off('close', done)
        resolve()
      }
      this.#socket.once('drain', done)
      this.#socket.once('close', done)
    })
  }

  /** Closes when all sent lines have been read, or after `stallMs`. */
  end(): void {
    const timer = this.#bounds.clock.after(this.#bounds.stallMs, () => this.destroy())
    this.#socket.once('close', () => timer.cancel())
    this.#socket.destroySoon()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  #arrived(line: string): void {
    const taker = this.#taker
    if (taker !== undefined) {
      this.#taker = undefined
      taker(line)
      return
    }
    this.#lines.push(line)
    if (this.#lines.length >= waitingCountMax) this.#socket.pause()
  }

  #ended(): void {
    this.#gone.abort()
    this.#taker?.(undefined)
    this.#taker = undefined
  }
}
