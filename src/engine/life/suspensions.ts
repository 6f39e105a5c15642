/** Destinations to which an operator lets no delivery begin.
 * Invariant: mail for them is deferred without an attempt until the suspension ends. Each
 * checkpoint says all suspensions, so they hold in later lives; `admin/verbs/suspend.ts` waits for
 * one. Their end is a time of the wall clock, because a crash must not lengthen it. */
import type { Clock, Timer } from '../../base/clock.js'
import { comparableDomain } from '../../base/mail-address.js'
import type { SuspensionRecord } from '../../record/checkpoint.js'
import type { DeferReason } from '../../scheduler/scheduler.js'

/** A nexthop, a transport, or a nexthop of one transport. */
export interface SuspensionTarget {
  readonly transport?: string | undefined
  readonly nexthop?: string | undefined
}

export interface Suspension extends SuspensionTarget {
  /** When it began, milliseconds since 1970. */
  readonly sinceAt: number
  /** When it ends, milliseconds since 1970; Infinity: with `unsuspend` alone. */
  readonly untilAt: number
}

/** The reason of a deferral by a suspension. */
export const suspended: DeferReason = {
  status: '4.3.2',
  text: 'an operator has suspended deliveries to this destination',
}

/** The name of every transport, or of every nexthop, in a list. */
export const everyName = '*'

/** The longest name of a transport or a nexthop, bytes. */
export const suspendedNameBytesMax = 255
/** Bytes of a suspension in a record, beside its names. */
const recordBytes = 24
/** The most bytes of all suspensions, which stand in each checkpoint. */
const recordBytesMax = 32_768

/** While one lasts a wall clock that was set is noticed after this. */
const clockLookMs = 30_000

export interface SuspensionsOptions {
  readonly clock: Clock
  readonly segmentBytes: number
  /** A suspension has come to its time. */
  readonly onEnd: (suspension: Suspension) => void
}

export class Suspensions {
  readonly #options: SuspensionsOptions
  /** By transport, then by nexthop in its comparable form; '' means every one. */
  readonly #known = new Map<string, Map<string, Suspension>>()
  #count = 0
  #bytes = 0
  #timer: Timer | undefined

  constructor(options: SuspensionsOptions, restored: readonly SuspensionRecord[]) {
    this.#options = options
    for (const { transport, nexthop, sinceAt, untilAt } of restored)
      this.put({
        ...(transport === '' ? undefined : { transport }),
        ...(nexthop === '' ? undefined : { nexthop }),
        sinceAt,
        untilAt: untilAt === 0 ? Infinity : untilAt,
      })
  }

  /** Why mail for this destination is not attempted now. */
  reasonFor(transport: string, nexthop: string): DeferReason | undefined {
    return this.#count === 0 || this.over(transport, nexthop) === undefined ? undefined : suspended
  }

  /** The one that holds this destination, the narrowest of several. */
  over(transport: string, nexthop: string): Suspension | undefined {
    if (this.#count === 0) return undefined
    const name = comparableDomain(nexthop)
    const [own, any] = [this.#known.get(transport), this.#known.get('')]
    const nowMs = this.#options.clock.wallMs()
    return [own?.get(name), any?.get(name), own?.get('')].find(
      (each) => each !== undefined && each.untilAt > nowMs,
    )
  }

  of({ transport = '', nexthop = '' }: SuspensionTarget): Suspension | undefined {
    return this.#known.get(transport)?.get(comparableDomain(nexthop))
  }

  *all(): Generator<Suspension> {
    for (const byNexthop of this.#known.values()) yield* byNexthop.values()
  }

  /** Is there room for it in a checkpoint, beside the others? */
  hasRoomFor(target: SuspensionTarget): boolean {
    const bytes = this.#bytes + (this.of(target) === undefined ? bytesOf(target) : 0)
    return bytes <= Math.min(recordBytesMax, this.#options.segmentBytes / 8)
  }

  /** From now on, in place of one of the same target. */
  put(suspension: Suspension): void {
    this.remove(suspension)
    const { transport = '', nexthop = '' } = suspension
    const byNexthop = this.#known.get(transport) ?? new Map<string, Suspension>()
    this.#known.set(transport, byNexthop.set(comparableDomain(nexthop), suspension))
    this.#count++
    this.#bytes += bytesOf(suspension)
    this.#lookLater()
  }

  /** @returns false when there is none */
  remove({ transport = '', nexthop = '' }: SuspensionTarget): boolean {
    const byNexthop = this.#known.get(transport)
    const known = byNexthop?.get(comparableDomain(nexthop))
    if (byNexthop === undefined || known === undefined) return false
    byNexthop.delete(comparableDomain(nexthop))
    if (byNexthop.size === 0) this.#known.delete(transport)
    this.#count--
    this.#bytes -= bytesOf(known)
    return true
  }

  /** For a checkpoint. */
  capture(): readonly SuspensionRecord[] | undefined {
    if (this.#count === 0) return undefined
    return [...this.all()].map(({ transport = '', nexthop = '', sinceAt, untilAt }) => ({
      transport,
      nexthop,
      sinceAt,
      untilAt: untilAt === Infinity ? 0 : untilAt,
    }))
  }

  /** The end of this life. */
  stop(): void {
    this.#timer?.cancel()
  }

  /** One timer, for the first that comes to its time. */
  #lookLater(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    let first = Infinity
    for (const { untilAt } of this.all()) first = Math.min(first, untilAt)
    if (first === Infinity) return
    const { clock } = this.#options
    const waitMs = Math.min(Math.max(1, first - clock.wallMs()), clockLookMs)
    this.#timer = clock.after(waitMs, () => this.#endSome())
  }

  #endSome(): void {
    const nowMs = this.#options.clock.wallMs()
    const over = [...this.all()].filter(({ untilAt }) => untilAt <= nowMs)
    for (const each of over) this.remove(each)
    this.#lookLater()
    for (const each of over) this.#options.onEnd(each)
  }
}

const bytesOf = ({ transport = '', nexthop = '' }: SuspensionTarget): number =>
  recordBytes + Buffer.byteLength(transport) + Buffer.byteLength(nexthop)
