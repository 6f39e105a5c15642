/** Mail that waits for room, of the journal or the disk, in turns.
 * Invariant: submissions are appended in order, and while the first waits, later ones are not
 * looked at: looking at a hundred thousand at each sync would leave no time for the syncs. */
import { onAbort } from '../../base/on-abort.js'
import { Ring } from '../../base/ring.js'
import { aborted } from './submission.js'
import type { Accepted } from './tickets.js'

/** Answers undefined, and has done nothing, while there is no room.
 * @throws WaybillError what the mail is refused with */
export type Append = () => Promise<Accepted> | undefined

export class RoomTurns {
  /** Each looks, and tells whether its turn is over. */
  readonly #waiting = new Ring<() => boolean>()

  /** Nobody waits. */
  get isFree(): boolean {
    return this.#waiting.length === 0
  }

  /** @param signal ends the waiting
   * @throws WaybillError SUBMIT_ABORTED, and what `append` throws, by rejection */
  wait(append: Append, signal: AbortSignal | undefined): Promise<Accepted> {
    return new Promise((resolve, reject) => {
      let isOver = false
      const end = (settle: () => void): void => {
        isOver = true
        deaf()
        settle()
      }
      const deaf = onAbort(signal, () => {
        end(() => reject(aborted(signal)))
        // There may be room for the next one.
        this.look()
      })
      this.#waiting.push(() => {
        if (isOver) return true
        try {
          const appended = append()
          if (appended !== undefined) end(() => resolve(appended))
        } catch (error) {
          end(() => reject(error))
        }
        return isOver
      })
    })
  }

  /** Room may have come. */
  look(): void {
    for (let look = this.#waiting.peek(); look?.() === true; look = this.#waiting.peek())
      this.#waiting.shift()
  }
}
