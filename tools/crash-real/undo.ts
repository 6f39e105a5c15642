/** Undoes children, mounts and directories at the end of a run.
 * Invariant: everything is undone, latest first, whether the run ends well, throws or is
 * interrupted. Every undo step is synchronous, so that it works while the process exits. */
import { rmSync } from 'node:fs'

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

export class Undo {
  readonly #actions = new Map<symbol, () => void>()

  constructor() {
    process.once('exit', this.all)
    for (const signal of signals) process.once(signal, this.#interrupted)
  }

  /** @returns undoes it now */
  add(action: () => void): () => void {
    const key = Symbol()
    this.#actions.set(key, action)
    return () => {
      if (this.#actions.delete(key)) action()
    }
  }

  directory(path: string): () => void {
    return this.add(() => rmSync(path, { recursive: true, force: true }))
  }

  readonly all = (): void => {
    process.off('exit', this.all)
    for (const signal of signals) process.off(signal, this.#interrupted)
    for (const [key, action] of Array.from(this.#actions).reverse()) {
      this.#actions.delete(key)
      try {
        action()
      } catch (error) {
        process.stderr.write(`not undone: ${String(error)}\n`)
      }
    }
  }

  readonly #interrupted = (): void => {
    this.all()
    process.exit(130)
  }
}
