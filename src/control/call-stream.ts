/** One end of a call through a store, as a stream of bytes.
 * Invariant: the stream ends when the other end has hung up or is gone, and everything that it sent
 * before was read. Memory is bounded: a write waits while the other end has much to read. */
import { Duplex } from 'node:stream'
import { pause, type Clock } from '../base/clock.js'
import type { Answer } from '../store/store.js'
import type { CallEnd, Calls } from '../store/calls.js'

const pieceBytesMax = 256 * 1024
const fullWaitMs = 50
/** How long a notice may be missing, and how soon an end that is gone is noticed. */
const lookMs = 1000

export class CallStream extends Duplex {
  readonly #calls: Calls
  readonly #call: string
  readonly #end: CallEnd
  readonly #clock: Clock
  readonly #stopNotices: () => void
  #sentCount = 0
  #isReading = false
  /** Ends the wait for a notice. */
  #wake: (() => void) | undefined
  #hasNotice = false

  constructor(calls: Calls, call: string, end: CallEnd, clock: Clock) {
    super({ highWaterMark: pieceBytesMax })
    this.#calls = calls
    this.#call = call
    this.#end = end
    this.#clock = clock
    this.#stopNotices = calls.onNotice(() => {
      this.#hasNotice = true
      this.#wake?.()
    })
  }

  /** Closes when what was written has been sent. */
  destroySoon(): void {
    this.end(() => this.destroy())
  }

  override _read(): void {
    if (!this.#isReading) void this.#receive()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#send(chunk).then(() => done(), done)
  }

  override _writev(
    chunks: readonly { readonly chunk: Buffer }[],
    done: (error?: Error | null) => void,
  ): void {
    this.#send(Buffer.concat(chunks.map(({ chunk }) => chunk))).then(() => done(), done)
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#stopNotices()
    this.#wake?.()
    void this.#calls.hangUp(this.#call, this.#end).then(() => done(error))
  }

  async #receive(): Promise<void> {
    this.#isReading = true
    let wasOver = false
    while (!this.destroyed) {
      this.#hasNotice = false
      const { pieces, isOver } = received(await this.#calls.receive(this.#call, this.#end))
      if (this.destroyed) return
      // A last piece may have been sent between the look at the pieces and at the other end.
      if (isOver && wasOver && pieces.length === 0) {
        this.push(null)
        return
      }
      wasOver = isOver
      if (pieces.length > 0 && !this.push(Buffer.concat(pieces))) break
      if (pieces.length === 0 && !isOver) await this.#noticed()
    }
    this.#isReading = false
  }

  #noticed(): Promise<void> {
    if (this.#hasNotice) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = this.#clock.after(lookMs, () => this.#wake?.())
      this.#wake = () => {
        timer.cancel()
        this.#wake = undefined
        resolve()
      }
    })
  }

  async #send(bytes: Buffer): Promise<void> {
    for (let from = 0; from < bytes.length && !this.destroyed;) {
      const piece = bytes.subarray(from, from + pieceBytesMax)
      const answer = await this.#calls.send(this.#call, this.#end, this.#sentCount, piece)
      if (answer.kind !== 'done' || answer.value === 'over') throw new Error('the other end has hung up')
      if (answer.value === 'full') {
        await pause(this.#clock, fullWaitMs, undefined)
        continue
      }
      this.#sentCount++
      from += piece.length
    }
  }
}

/** A connection that fails ends its calls. */
const received = (answer: Answer<{ readonly pieces: readonly Buffer[]; readonly isOver: boolean }>) =>
  answer.kind === 'done' ? answer.value : { pieces: [], isOver: true }
