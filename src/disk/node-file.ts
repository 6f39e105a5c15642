/** An open file of Node.
 * Invariant: one call is one trip to the thread pool, at an offset that we give; nothing is
 * retried. `close` waits for the calls of this file, so that its descriptor's number is not
 * reused under them. */
import fs from 'node:fs'
import { assert } from '../base/assert.js'
import type { Calls } from './calls.js'
import type { DiskFile } from './disk.js'
import { diskFailure } from './failure.js'

/** Of one call: Node counts in 31 bits, and a message may be one byte longer. */
const callBytesMax = 2 ** 31 - 1

export class NodeFile implements DiskFile {
  readonly #calls: Calls
  readonly #descriptor: number
  readonly #path: string
  readonly #isSynced: boolean
  readonly #writeOperation: string
  readonly #forget: (descriptor: number) => void
  #underWay = 0
  #closed = false
  #idle: (() => void) | undefined

  /** @param forget called when the descriptor is about to be closed here */
  constructor(
    calls: Calls,
    descriptor: number,
    path: string,
    synced: boolean,
    forget: (descriptor: number) => void,
  ) {
    this.#calls = calls
    this.#descriptor = descriptor
    this.#path = path
    this.#isSynced = synced
    this.#writeOperation = synced ? 'write synced' : 'write'
    this.#forget = forget
  }

  async read(into: Buffer, position: number): Promise<number> {
    let filled = 0
    // Ends: each turn but the last reads at least one byte more of `into`.
    while (filled < into.length) {
      const from = filled
      const count = await this.#run<number>('read', (answer) => {
        const bytes = Math.min(into.length - from, callBytesMax)
        fs.read(this.#descriptor, into, from, bytes, position + from, answer)
      })
      if (count === 0) break
      filled += count
    }
    return filled
  }

  async write(bytes: Buffer, position: number): Promise<void> {
    // libuv writes until all is written; a short count means that the next part failed, and its
    // code is lost. Writing the rest shows the code: mostly a full disk. There it may be short
    // again, as others make room and take it. A synced write has failed in any case; other bytes
    // are not durable before a sync.
    let written = 0
    // Ends: each turn but the last writes at least one byte more of `bytes`.
    while (written < bytes.length) {
      const count = await this.#writeFrom(bytes, written, position)
      if (count === 0 || (written > 0 && this.#isSynced))
        throw diskFailure(this.#writeOperation, this.#path, undefined)
      written += count
    }
  }

  #writeFrom(bytes: Buffer, from: number, position: number): Promise<number> {
    return this.#run<number>(this.#writeOperation, (answer) => {
      const count = Math.min(bytes.length - from, callBytesMax)
      fs.write(this.#descriptor, bytes, from, count, position + from, answer)
    })
  }

  sync(): Promise<void> {
    return this.#run<void>('sync', (answer) => fs.fdatasync(this.#descriptor, answer))
  }

  truncate(lengthBytes: number): Promise<void> {
    return this.#run<void>('truncate', (answer) => fs.ftruncate(this.#descriptor, lengthBytes, answer))
  }

  async size(): Promise<number> {
    const stats = await this.#run<fs.Stats>('size', (answer) => fs.fstat(this.#descriptor, answer))
    return stats.size
  }

  async close(): Promise<void> {
    assert(!this.#closed, 'a file is closed once')
    this.#closed = true
    if (this.#underWay > 0) await new Promise<void>((resolve) => (this.#idle = resolve))
    await this.#calls.runVoid('close', this.#path, (answer) => {
      this.#forget(this.#descriptor)
      fs.close(this.#descriptor, answer)
    })
  }

  async #run<T>(
    operation: string,
    begin: (answer: (error: NodeJS.ErrnoException | null, value?: T) => void) => void,
  ): Promise<T> {
    assert(!this.#closed, 'no call follows the close of a file')
    this.#underWay++
    try {
      return await this.#calls.run<T>(operation, this.#path, begin)
    } finally {
      this.#underWay--
      if (this.#underWay === 0) this.#idle?.()
    }
  }
}
