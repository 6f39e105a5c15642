/** The free room of a queue's disk, for watchers.
 * Invariant: nobody waits for an answer, and one is asked for at a time: a disk that hangs gives
 * none. */
import type { Room } from './space-watch.js'
import { isWaybillError } from '../../errors.js'

export class RoomReading {
  readonly #queue: { room(): Promise<Room> }
  #last: Room | undefined
  #isAsking = false

  constructor(queue: { room(): Promise<Room> }) {
    this.#queue = queue
  }

  /** What the last answer said; undefined while there is none, or when it was an error. */
  get last(): Room | undefined {
    return this.#last
  }

  /** Asks, except while an answer is outstanding. @returns whether it asked */
  ask(): boolean {
    if (this.#isAsking) return false
    this.#isAsking = true
    const answered = (room: Room | undefined): void => {
      this.#isAsking = false
      this.#last = room
    }
    this.#queue.room().then(answered, (error: unknown) => {
      answered(undefined)
      if (!isWaybillError(error)) throw error
    })
    return true
  }
}
