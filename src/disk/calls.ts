/** The calls of one disk that the thread pool has not answered yet.
 * Invariant: no descriptor is closed while a call that uses it is under way. The number of a closed
 * descriptor is given to the next file, and a late write would land there. So `abandon`
 * releases what is held only after the last answer; until then new calls reject, and so do the
 * ones under way. */
import type { NoParamCallback } from 'node:fs'
import { isWaybillError, type WaybillError } from '../errors.js'
import { abandonedFailure, accessDenied, diskFailure } from './failure.js'

export type Answer<T> = (error: NodeJS.ErrnoException | null, value?: T) => void

export class Calls {
  readonly #root: string
  #underWay = 0
  #abandoned = false
  #release: (() => void) | undefined

  /** @param root the disk's own directory, as errors name it */
  constructor(root: string) {
    this.#root = root
  }

  /** Runs one call of node:fs. @param pathInDisk '' for the root
   * @throws WaybillError DISK_FAILED, DISK_FULL, QUEUE_CRASHED */
  run<T>(operation: string, pathInDisk: string, begin: (answer: Answer<T>) => void): Promise<T> {
    const isRoot = pathInDisk === ''
    const path = isRoot ? this.#root : pathInDisk
    if (this.#abandoned) return Promise.reject(abandonedFailure(operation, path))
    this.#underWay++
    const failure = (errno: string | undefined, cause: unknown): WaybillError =>
      diskFailure(operation, path, errno, cause, isRoot ? undefined : this.#root)
    return new Promise<T>((resolve, reject) => {
      try {
        begin((error, value) => {
          if (this.#abandoned) reject(abandonedFailure(operation, path))
          else if (isWaybillError(error)) reject(error)
          else if (error) reject(failure(error.code, error))
          else resolve(value as T)
          this.#ended()
        })
      } catch (error) {
        // Not a call: Node has refused its arguments, or its permission model has refused it.
        const isRefused = (error as Partial<NodeJS.ErrnoException> | null)?.code === accessDenied
        reject(isRefused ? failure(accessDenied, error) : error)
        this.#ended()
      }
    })
  }

  #ended(): void {
    this.#underWay--
    if (this.#underWay === 0) this.#release?.()
  }

  /** The same for calls that answer nothing. */
  runVoid(operation: string, path: string, begin: (answer: NoParamCallback) => void): Promise<void> {
    return this.run<void>(operation, path, begin)
  }

  /** @param release runs once, when nothing is under way any more */
  abandon(release: () => void): void {
    if (this.#abandoned) return
    this.#abandoned = true
    this.#release = release
    if (this.#underWay === 0) release()
  }
}
