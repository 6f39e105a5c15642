/** A copy in a tar file, written as it is made, whatever it holds.
 * Invariant: the file is durable when `finish` settles; no file that was there is touched. */
import { createWriteStream, type WriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { pack, type Pack } from 'tar-stream'
import { diskFailure, errnoOf } from '../disk/failure.js'
import type { BackupTarget } from './copy.js'
import type { PlannedFile } from './plan.js'

// Mail is nobody else's business.
const mode = 0o600

export class TarTarget implements BackupTarget {
  readonly #path: string
  readonly #pack: Pack = pack()
  readonly #file: WriteStream
  readonly #written: Promise<void>
  readonly #mtime: Date

  /** @param path must not be there @param atMs the moment that the copy is of */
  constructor(path: string, atMs: number) {
    this.#path = path
    this.#mtime = new Date(atMs)
    this.#file = createWriteStream(path, { flags: 'wx', mode, flush: true })
    this.#written = pipeline(this.#pack, this.#file).catch((error: unknown) => {
      const errno = errnoOf(error)
      throw errno === undefined ? error : diskFailure('write', path, errno, error)
    })
    // `add` and `finish` reject with it.
    this.#written.catch(() => undefined)
  }

  async add({ path: name, bytes: size }: PlannedFile, pieces: AsyncIterable<Buffer>): Promise<void> {
    try {
      await pipeline(pieces, this.#pack.entry({ name, size, mode, mtime: this.#mtime }))
    } catch (error) {
      // An entry that breaks off takes the file along, and the file the entry: one says why.
      throw await this.#written.then(
        () => error,
        (reason: unknown) => reason,
      )
    }
  }

  async finish(): Promise<void> {
    this.#pack.finalize()
    await this.#written
  }

  async abandon(): Promise<void> {
    this.#pack.destroy()
    await this.#written.catch(() => undefined)
    await new Promise<void>((resolve) => {
      if (this.#file.closed) resolve()
      else this.#file.once('close', resolve).destroy()
    })
    await rm(this.#path, { force: true })
  }
}
