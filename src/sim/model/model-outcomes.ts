/** Checks promise O12: the outcomes that a named consumer must get, against those that it got.
 * Invariants:
 * 1. An outcome is owed when its record is durable and the consumer was known before it.
 * 2. A number has one outcome, in all lives, and a consumer gets them without a gap. Each life
 *    begins behind those that the consumer is done with, or before. */
import type { OutcomeGap } from '../../engine/outcomes/consume.js'
import type { QueueOutcome } from '../../record/outcome.js'
import type { Violate } from './violation.js'

/** An event that a consumer gets as an outcome. */
export interface Happened {
  readonly kind: QueueOutcome['kind']
  readonly id: string
  /** 0: without an attempt. */
  readonly attempt?: number
  readonly recipients?: readonly string[]
}

interface Pending {
  readonly keys: readonly string[]
  readonly appendedBytes: number
  /** Else a consumer may be told of it, as one that came in this life is. */
  readonly isOwed: boolean
}

/** Of each recipient, where they are named. */
function keysOf({ kind, id, attempt = 0, recipients = [] }: Happened): string[] {
  const key = `${kind} ${id} ${attempt}`
  return recipients.length === 0 ? [key] : recipients.map((address) => `${key} ${address}`)
}

export class ModelOutcomes {
  /** A checkpoint names the consumer. */
  #isKnown = false
  #pending: Pending[] = []
  /** Senders of submissions that were made while it was known. */
  #asked = new Set<string>()
  #owed = new Set<string>()
  /** Lost to a crash, perhaps, or recorded before the consumer was known. */
  #uncertain = new Set<string>()
  #given = new Map<number, string>()
  #seen = new Set<string>()
  #doneNumber = 0
  #mayMiss = false
  /** In this life. */
  #isConsumed = false
  /** undefined: nothing was given in this life. */
  #lastNumber: number | undefined

  copy(): ModelOutcomes {
    const copy = new ModelOutcomes()
    copy.#isKnown = this.#isKnown
    copy.#pending = this.#pending.slice()
    copy.#asked = new Set(this.#asked)
    copy.#owed = new Set(this.#owed)
    copy.#uncertain = new Set(this.#uncertain)
    copy.#given = new Map(this.#given)
    copy.#seen = new Set(this.#seen)
    copy.#doneNumber = this.#doneNumber
    copy.#lastNumber = this.#lastNumber
    copy.#mayMiss = this.#mayMiss
    copy.#isConsumed = this.#isConsumed
    return copy
  }

  get known(): unknown {
    const { size } = this.#given
    return [this.#isKnown, this.#pending, this.#asked, this.#owed, this.#uncertain, size, this.#doneNumber]
  }

  /** @param isShortOfRoom outcomes may be left out in it, and the consumer gets a gap */
  beginLife(isShortOfRoom: boolean): void {
    this.#mayMiss ||= isShortOfRoom
    for (const { keys } of this.#pending) for (const key of keys) this.#uncertain.add(key)
    this.#pending = []
    this.#lastNumber = undefined
    this.#isConsumed = false
  }

  /** The queue is open. @param isNamed it has the consumer */
  opened(isNamed: boolean, violate: Violate): void {
    this.#isConsumed = true
    if (this.#isKnown && !isNamed) violate('O12', 'the consumer of outcomes is forgotten')
  }

  /** @param isNamed the queue has the consumer */
  look(isNamed: boolean): void {
    this.#isKnown ||= isNamed
  }

  asked(sender: string): void {
    if (this.#isKnown) this.#asked.add(sender)
  }

  settled(sender: string, id: string): void {
    if (this.#asked.has(sender)) for (const key of keysOf({ kind: 'accepted', id })) this.#owed.add(key)
  }

  recorded(happened: Happened, appendedBytes: number): void {
    if (!this.#isKnown && !this.#isConsumed) return
    this.#pending.push({ keys: keysOf(happened), appendedBytes, isOwed: this.#isKnown })
  }

  durable(writtenBytes: number): void {
    const first = this.#pending.findIndex(({ appendedBytes }) => appendedBytes > writtenBytes)
    const taken = this.#pending.splice(0, first < 0 ? this.#pending.length : first)
    for (const { keys, isOwed } of taken)
      for (const key of keys) (isOwed ? this.#owed : this.#uncertain).add(key)
  }

  gave(item: QueueOutcome | OutcomeGap, violate: Violate): void {
    if (item.kind === 'gap') {
      if (!this.#mayMiss) violate('O12', `a consumer misses ${item.from} to ${item.to}`)
      this.#lastNumber = item.to
      return
    }
    const { number, kind, id } = item
    const keys = keysOf(kind === 'accepted' ? { kind, id } : item)
    const what = keys.join(', ')
    const last = this.#lastNumber
    if (last === undefined ? number > this.#doneNumber + 1 : number !== last + 1)
      violate('O12', `outcome ${number} comes behind ${last ?? this.#doneNumber}`)
    this.#lastNumber = number
    const before = this.#given.get(number)
    if (before !== undefined && before !== what)
      violate('O12', `outcome ${number} was '${before}' and is '${what}'`)
    this.#given.set(number, what)
    for (const key of keys) this.#judgeDurable(key, violate)
    for (const key of keys) this.#seen.add(key)
  }

  #judgeDurable(key: string, violate: Violate): void {
    if (this.#owed.has(key) || this.#uncertain.has(key) || this.#seen.has(key)) return
    if (this.#pending.some(({ keys }) => keys.includes(key)))
      violate('O12', `'${key}' is told before it is durable`)
  }

  /** The consumer asks for the next one. */
  done(item: QueueOutcome | OutcomeGap): void {
    this.#doneNumber = Math.max(this.#doneNumber, item.kind === 'gap' ? item.to : item.number)
  }

  /** It had all the time that it needs. */
  judgeEnd(violate: Violate): void {
    if (this.#mayMiss || !this.#isConsumed) return
    for (const key of this.#owed)
      if (!this.#seen.has(key)) violate('O12', `'${key}' is durable, and no consumer got it`)
  }
}
