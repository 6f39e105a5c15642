/** Changes of one part of a queue, in their order.
 * Invariant: one question of a part is in flight, and the next is asked when it was answered. One
 * whose answer was lost is looked up under the next tenure, where it has happened for good or never
 * will, and only then asked again.
 *    1. An append is sent, and the connection breaks.
 *    2. It is sent again on another one, without a look.
 *    3. The first one happened: the second one finds its place taken, or another
 *       append stands there.
 * Why changes are asked together: each commit waits for a standby, and what came meanwhile shares
 * the next wait. Only changes of a file each are, so that their order says nothing. */
import { assert } from '../base/assert.js'
import type { Clock } from '../base/clock.js'
import type { Lease, Tenure, Trouble } from './lease.js'
import type { StoreStatistics } from './statistics.js'
import {
  done,
  fenced,
  parts,
  refusalError,
  type Answer,
  type Part,
  type Refusal,
  type Session,
  type Write,
} from './store.js'

/** A change that somebody waits for. */
interface Work {
  readonly operation: string
  readonly path: string
  readonly write: Write
  readonly resolve: (value: number) => void
  readonly reject: (error: unknown) => void
}

/** Asked together at the most. A deadline is for a question, however much it carries. */
const togetherMax = 32
const togetherBytesMax = 1024 * 1024

export class Writer {
  readonly #part: Part
  readonly #lease: Lease
  readonly #clock: Clock
  readonly #statistics: StoreStatistics
  readonly #waiting: Work[] = []
  readonly #newest = new NewestChange()
  #isBusy = false

  constructor(part: Part, lease: Lease, clock: Clock, statistics: StoreStatistics) {
    this.#part = part
    this.#lease = lease
    this.#clock = clock
    this.#statistics = statistics
  }

  /** @returns the number of the file that was created, else 0
   * @throws WaybillError QUEUE_LOST, STORE_UNREACHABLE, and as `refusalError` */
  run(operation: string, path: string, write: Write): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ operation, path, write, resolve, reject })
      if (!this.#isBusy) void this.#performAll()
    })
  }

  /** Has the store the newest changes that it has answered? */
  isKept(session: Session, queue: number): Promise<Answer<boolean>> {
    return this.#newest.isIn(session, queue)
  }

  async #performAll(): Promise<void> {
    this.#isBusy = true
    for (let works = this.#next(); works.length > 0; works = this.#next())
      try {
        await this.#perform(works)
      } catch (error) {
        for (const { reject } of works) reject(error)
      }
    this.#isBusy = false
  }

  /** What is asked now: the first that waits, and what may be asked with it. */
  #next(): Work[] {
    const paths = new Set<string>()
    let bytes = 0
    let count = 0
    for (const { path, write } of this.#waiting) {
      bytes += bytesOf(write)
      const isMore = count > 0
      if (isMore && (count === togetherMax || bytes > togetherBytesMax || paths.has(path))) break
      if (isMore && !isShared(write)) break
      paths.add(path)
      count++
      if (!isShared(write)) break
    }
    return this.#waiting.splice(0, count)
  }

  async #perform(works: readonly Work[]): Promise<void> {
    let isUnknown = false
    const trouble: Trouble = {}
    for (;;) {
      const tenure = await this.#lease.tenure()
      if (isUnknown) {
        const found = await lookUp(tenure, works)
        if (found.kind !== 'done') {
          const refusal = refusalOf(found)
          if (refusal !== undefined && (await this.#lease.isOurs(tenure)))
            throw refusalError(refusal, works[0]!.operation, works[0]!.path)
          await this.#lease.again(tenure, trouble, found)
          continue
        }
        if (found.value !== undefined) {
          this.#statistics.foundCount++
          return this.#settle(works, found.value)
        }
        this.#statistics.missingCount++
        isUnknown = false
      }
      const askedMs = this.#clock.monotonicMs()
      const session = this.#part === parts.journal ? tenure.journal : tenure.names
      const writes = works.map(({ write }) => write)
      const answer = await session.write(tenure.fence, this.#part, writes)
      if (answer.kind === 'done') {
        this.#lease.proof.prove(askedMs)
        this.#count(this.#clock.monotonicMs() - askedMs)
        return this.#settle(works, answer.value)
      }
      const refusal = refusalOf(answer)
      if (refusal !== undefined && (await this.#lease.isOurs(tenure))) return this.#refuse(works, refusal)
      isUnknown = answer.kind === 'unknown'
      await this.#lease.again(tenure, trouble, answer)
    }
  }

  /** None of them has happened. Each is asked alone, so that only what is refused fails. */
  async #refuse(works: readonly Work[], refusal: Refusal): Promise<void> {
    const [{ operation, path }] = works as [Work]
    if (works.length === 1) throw refusalError(refusal, operation, path)
    for (const work of works) await this.#perform([work]).catch(work.reject)
  }

  #settle(works: readonly Work[], values: readonly number[]): void {
    assert(works.length === values.length, 'each change has an answer')
    this.#newest.note(works.map(({ write }) => write))
    for (const [i, { resolve }] of works.entries()) resolve(values[i]!)
  }

  #count(ms: number): void {
    this.#statistics.changeCount++
    this.#statistics.changeTotalMs += ms
    this.#statistics.changeLastMs = ms
  }
}

/** May others be asked with it? A table is made alone. */
function isShared(write: Write): boolean {
  return write.verb === 'append' || write.verb === 'unlink' || (write.verb === 'create' && !write.hasTable)
}

function bytesOf(write: Write): number {
  if (!('extents' in write)) return 0
  return write.extents.reduce((sum, { bytes }) => sum + bytes.length, 0)
}

/** Have they happened? All of them or none. Asked under a later tenure. A look that says yes counts
 * only while the epoch is still that of the tenure:
 *    1. Node A resumes, and is paused before it looks. Its changes 8 and 9 did not happen.
 *    2. Node B claims the queue, and counts its own changes on: 8.
 *    3. Node A looks, and takes the 8 for its own: it settles what never happened.
 * @returns undefined: no */
async function lookUp(
  tenure: Tenure,
  works: readonly Work[],
): Promise<Answer<readonly number[] | undefined>> {
  const { beat, fence } = tenure
  const isThere = await areThere(tenure, works)
  if (isThere.kind !== 'done') return isThere
  if (!isThere.value) return done(undefined)
  const values: number[] = []
  for (const { write } of works) {
    const file = write.verb === 'create' ? await beat.find(fence.queue, write.path) : undefined
    if (file !== undefined && file.kind !== 'done') return file
    values.push(file?.value?.file ?? 0)
  }
  // Last, because epochs only grow.
  const standing = await beat.standing(fence.queue)
  if (standing.kind !== 'done') return standing
  return standing.value.epoch === fence.epoch ? done(values) : fenced
}

async function areThere({ beat, fence }: Tenure, works: readonly Work[]): Promise<Answer<boolean>> {
  const numbers = works.flatMap(({ write }) => ('number' in write ? [write.number] : []))
  if (numbers.length > 0) {
    const last = await beat.lastChange(fence.queue)
    return last.kind === 'done' ? done(numbers.includes(last.value)) : last
  }
  const [{ write }] = works as [Work]
  // To overwrite twice is to do it once.
  if (write.verb !== 'append') return done(false)
  return beat.holds(fence.queue, write.file, write.extents.at(-1)!)
}

/** Undefined: nothing was refused, or only because the tenure is over. */
const refusalOf = (answer: Answer<unknown>): Refusal | undefined =>
  answer.kind === 'refused' && answer.refusal.kind !== 'fenced' ? answer.refusal : undefined

type Append = Extract<Write, { readonly verb: 'append' }>

/** The newest changes of a part that the store has answered, and whether it still has them.
 * Invariant: a no is certain. What a change whose answer was lost may have removed meanwhile is not
 * looked for.
 *    1. A change is answered, and mail is settled by it.
 *    2. The database is restored to an earlier moment; or a standby without the change is promoted.
 *    3. The life resumes, and appends behind what is not there. Recovery meets a gap: what was
 *       settled behind it is lost with what stood in it. */
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
