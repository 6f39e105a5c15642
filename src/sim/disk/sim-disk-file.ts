/** An open file of a simulated disk.
 * Invariant: it holds the file, not its name: a rename or an unlink does not touch an open file. */
import { assert } from '../../base/assert.js'
import type { DiskFile, OpenMode } from '../../disk/disk.js'
import { Refusal, type DiskImage } from './disk-image.js'
import type { ChangingOperation, Operation } from './operation.js'
import type { SimFile } from './sim-file.js'

/** The calls of an open file to its disk. */
export interface FileCalls {
  readonly image: DiskImage
  /** Issues a call; `effect` runs at the moment the world chooses. */
  call<T>(operation: Operation, effect: () => T): Promise<T>
  /** Makes a change in this moment. @throws Refusal */
  perform(operation: ChangingOperation): void
  /** The last change that a sync covers which was issued after change `seq`. */
  coveredSeq(seq: number): number
  /** False if a test has removed that guarantee. */
  readonly syncs: boolean
  forget(open: SimDiskFile): void
}

export class SimDiskFile implements DiskFile {
  readonly file: SimFile
  readonly #disk: FileCalls
  readonly #path: string
  readonly #mode: OpenMode
  readonly #synced: boolean
  #closed = false

  constructor(disk: FileCalls, file: SimFile, path: string, mode: OpenMode, synced: boolean) {
    this.#disk = disk
    this.file = file
    this.#path = path
    this.#mode = mode
    this.#synced = synced
  }

  async read(into: Buffer, position: number): Promise<number> {
    return this.#disk.call(this.#operation('read'), () => this.file.cached.read(into, position))
  }

  async write(bytes: Buffer, position: number): Promise<void> {
    const { kind, path, file } = this.#operation(this.#synced ? 'writeSynced' : 'write')
    await this.#change({ kind, path, file, position, bytes })
  }

  async sync(): Promise<void> {
    const { seq } = this.#disk.image
    const { kind, path, file } = this.#operation('sync')
    await this.#disk.call({ kind, path, file, seq }, () => {
      if (this.#disk.syncs) this.file.sync(this.#disk.coveredSeq(seq))
    })
  }

  async truncate(lengthBytes: number): Promise<void> {
    await this.#change({ ...this.#operation('truncate'), lengthBytes })
  }

  async size(): Promise<number> {
    return this.#disk.call(this.#operation('size'), () => this.file.cached.lengthBytes)
  }

  async close(): Promise<void> {
    const operation = this.#operation('close')
    this.#closed = true
    await this.#disk.call(operation, () => this.#disk.forget(this))
  }

  #change(operation: ChangingOperation): Promise<void> {
    return this.#disk.call(operation, () => {
      if (this.#mode === 'read') throw new Refusal('EBADF')
      this.#disk.perform(operation)
    })
  }

  #operation<K extends string>(kind: K): { kind: K; path: string; file: SimFile } {
    assert(!this.#closed, 'no call follows the close of a file')
    return { kind, path: this.#path, file: this.file }
  }
}
