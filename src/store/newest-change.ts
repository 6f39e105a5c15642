/** The newest changes of a part that the store has answered, and whether it still has them.
 * Invariant: a no is certain. What a change whose answer was lost may have removed meanwhile is not
 * looked for.
 *    1. A change is answered, and mail is settled by it.
 *    2. The database is restored to an earlier moment; or a standby without the change is promoted.
 *    3. The life resumes, and appends behind what is not there. Recovery meets a gap: what was
 *       settled behind it is lost with what stood in it. */
import { done, type Answer, type Session, type Write } from './store.js'

type Append = Extract<Write, { readonly verb: 'append' }>

export class NewestChange {
  #number: number | undefined
  /** Undefined: what came behind it may have replaced it, or removed its file. */
  #append: Append | undefined

  /** Of one question, that was answered. */
  note(writes: readonly Write[]): void {
    for (const write of writes) if ('number' in write) this.#number = write.number
    const areAppends = writes.every((write): write is Append => write.verb === 'append')
    this.#append = areAppends ? writes.at(-1) : undefined
  }

  /** Asked while nothing of this part is in flight that could still happen. */
  async isIn(session: Session, queue: number): Promise<Answer<boolean>> {
    if (this.#number !== undefined) {
      const last = await session.lastChange(queue)
      if (last.kind !== 'done') return last
      if (last.value !== this.#number) return done(last.value > this.#number)
    }
    if (this.#append === undefined) return done(true)
    const { file, extents } = this.#append
    const held = await session.holds(queue, file, extents.at(-1)!)
    // The table of a segment that was made since then.
    return held.kind === 'refused' && held.refusal.kind === 'errno' ? done(false) : held
  }
}
