/** The minutes of the last day in a file, so that a restart does not end the day.
 * Invariant: it is replaced as a whole, once a minute, and never synced. A crash costs a minute of
 * figures. A file that cannot be read costs the figures of the day, and never the relay. */
import { readFile, rename, writeFile } from 'node:fs/promises'
import type { RateHistory } from './rate-history.js'

/** A day of counts has a tenth of it. */
const bytesMax = 1024 * 1024

export class RateFile {
  readonly #path: string
  readonly #history: RateHistory
  readonly #onError: (error: unknown) => void
  #isWriting = false

  /** @param onError what the file system refuses; figures go on without the file */
  constructor(path: string, history: RateHistory, onError: (error: unknown) => void) {
    this.#path = path
    this.#history = history
    this.#onError = onError
  }

  async read(wallMs: number): Promise<void> {
    try {
      const text = await readFile(this.#path, 'utf8')
      if (text.length > bytesMax || !this.#history.take(text, wallMs))
        this.#onError(new Error(`${this.#path} holds no rates: the day begins now`))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') this.#onError(error)
    }
  }

  /** One at a time: on a disk that hangs nothing piles up. */
  async write(wallMs: number): Promise<void> {
    if (this.#isWriting) return
    this.#isWriting = true
    try {
      await writeFile(`${this.#path}.new`, this.#history.text(wallMs), { mode: 0o600 })
      await rename(`${this.#path}.new`, this.#path)
    } catch (error) {
      this.#onError(error)
    } finally {
      this.#isWriting = false
    }
  }
}
