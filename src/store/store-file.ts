/** An open file of a store.
 * Invariant: a write behind all content is one INSERT; any other replaces what lies there,
 * atomically. Where the content ends is known, because only the owner changes a file, by these
 * handles. */
import { assert } from '../base/assert.js'
import type { DiskFile } from '../disk/disk.js'
import { diskFailure } from '../disk/failure.js'
import { extentsOf, fill } from './extents.js'
import type { Lease } from './lease.js'
import type { Change, Content, FileRow, Part, Write } from './store.js'
import type { Writer } from './writer.js'

export interface Owned {
  readonly lease: Lease
  /** By part. */
  readonly writers: readonly [Writer, Writer]
}

/** What all handles of a file share. */
export interface FileState {
  contentEnd: number
  openCount: number
}

export interface StoreFileParts {
  readonly path: string
  readonly row: FileRow
  readonly operation: 'write' | 'write synced'
  readonly part: Part
  /** Undefined: opened for reading. */
  readonly owner: Owned | undefined
  readonly state: FileState
  readonly read: (from: number, upto: number) => Promise<Content>
  readonly change: (operation: string, change: Change) => Promise<number>
  /** @throws WaybillError QUEUE_CRASHED when the disk was abandoned */
  readonly check: (operation: string) => void
  readonly release: () => void
}

export class StoreFile implements DiskFile {
  readonly #parts: StoreFileParts
  #isClosed = false
  #underWay = 0
  #whenIdle: (() => void) | undefined

  constructor(parts: StoreFileParts) {
    this.#parts = parts
  }

  read(into: Buffer, position: number): Promise<number> {
    return this.#run('read', async () => {
      if (into.length === 0) return 0
      const { extents, lengthBytes } = await this.#parts.read(position, position + into.length)
      const count = Math.max(0, Math.min(into.length, lengthBytes - position))
      fill(into.subarray(0, count), position, extents)
      return count
    })
  }

  write(bytes: Buffer, position: number): Promise<void> {
    const { operation, state, row } = this.#parts
    return this.#run(operation, async () => {
      const owner = this.#owner()
      if (bytes.length === 0) return
      const upto = position + bytes.length
      const extents = extentsOf(bytes, position)
      const isBehind = position >= state.contentEnd
      if (isBehind && extents.length === 0) {
        await this.#parts.change(operation, { verb: 'lengthen', file: row.file, lengthBytes: upto })
        return
      }
      state.contentEnd = Math.max(state.contentEnd, upto)
      const write: Write = isBehind
        ? { verb: 'append', file: row, extents }
        : { verb: 'overwrite', file: row, from: position, upto, extents }
      await owner.writers[this.#parts.part].run(operation, this.#parts.path, write)
    })
  }

  /** What was written is durable. */
  sync(): Promise<void> {
    return this.#run('sync', () => Promise.resolve())
  }

  truncate(lengthBytes: number): Promise<void> {
    const { row, state, change } = this.#parts
    return this.#run('truncate', async () => {
      this.#owner()
      state.contentEnd = Math.min(state.contentEnd, lengthBytes)
      await change('truncate', { verb: 'truncate', file: row.file, lengthBytes })
    })
  }

  size(): Promise<number> {
    return this.#run('size', async () => (await this.#parts.read(0, 0)).lengthBytes)
  }

  async close(): Promise<void> {
    assert(!this.#isClosed, 'a file is closed once')
    this.#isClosed = true
    if (this.#underWay > 0) await new Promise<void>((resolve) => (this.#whenIdle = resolve))
    this.#parts.check('close')
    this.#parts.release()
  }

  #owner(): Owned {
    const { owner, operation, path } = this.#parts
    if (owner === undefined) throw diskFailure(operation, path, 'EBADF')
    return owner
  }

  async #run<T>(operation: string, call: () => Promise<T>): Promise<T> {
    assert(!this.#isClosed, 'no call follows the close of a file')
    this.#underWay++
    try {
      this.#parts.check(operation)
      const value = await call()
      this.#parts.check(operation)
      return value
    } finally {
      if (--this.#underWay === 0) this.#whenIdle?.()
    }
  }
}
