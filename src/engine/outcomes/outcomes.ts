/** The log of outcomes: what the journal tells of messages, copied for consumers.
 * Invariants:
 * 1. An outcome is copied when its record is durable in the journal, so no consumer hears of what a
 *    crash takes back.
 * 2. A checkpoint says how far the journal is copied, and its suffix begins there or before. A
 *    later life copies the rest again, with the same numbers.
 * 3. A consumer's outcomes are kept up to `outcomeBytesMax`. Mail never waits for a consumer: where
 *    there is no room the numbers go on, and the consumer sees the gap.
 * Why a separate log: outcomes take a tenth of the journal's bytes, and outlive its segments. */
import { messageIdIn } from '../../base/header.js'
import { nowhere, type Position } from '../../base/position.js'
import type { Journal } from '../../log/journal.js'
import type { LaneLog } from '../../log/lane-log.js'
import type { OutcomePositions } from '../../record/checkpoint.js'
import { classAt, kindAt, payloadAt, timeAt } from '../../record/frame.js'
import { SideLog, type SideLogOptions } from '../side-logs/side-log.js'
import { KeptOutcomes, type OutcomeRecord } from './kept-outcomes.js'
import { JournalOutcomes, type JournalOutcome } from './journal-outcomes.js'

/** Outcomes that are copied in one step, and how much of the journal is read for them: a checkpoint
 * says what whole steps have copied. */
const copiedMax = 1000
const stepBytesMax = 1 << 20

export interface OutcomesOptions extends SideLogOptions {
  readonly journal: Pick<Journal, 'read' | 'durableEnd' | 'end'>
  readonly bytesMax: number
  /** The beginning of a spool file; rejects where it is gone. */
  readonly spoolHead: (number: number) => Promise<Buffer>
  /** Does work that nobody waits for: its failure is the end of this life. */
  readonly run: (work: Promise<unknown>) => void
  /** There is more for a checkpoint to say. */
  readonly onAcknowledged: () => void
  /** What earlier lives had left is copied, or a consumer is done with it: the next life need not
   * begin there. */
  readonly onCaughtUp: () => void
}

export interface Consumer {
  /** undefined: it lives as long as its reader. */
  readonly name: string | undefined
  /** The number of the last outcome that it is done with. */
  cursor: number
  isReading: boolean
  /** A durable checkpoint names it. */
  isKept: boolean
}

export class Outcomes {
  readonly #options: OutcomesOptions
  readonly #checkpointed: OutcomePositions | undefined
  readonly #consumers = new Set<Consumer>()
  /** Those that go on where the life before stood. */
  readonly #late = new Set<Consumer>()
  readonly #fromJournal = new JournalOutcomes()
  /** The first frame of the journal that is not copied, and how many of its outcomes are. */
  #from: Position
  #skip: number
  /** Of the last outcome. */
  #number: number
  /** Where earlier lives have ended in the journal, until that is copied; and the last outcome of
   * theirs, from then on. */
  #leftEnd: Position | undefined
  #leftNumber = Infinity
  #kept: KeptOutcomes | undefined
  readonly #side: SideLog
  #copying: Promise<void> | undefined
  #isOver = false
  readonly #waiting: (() => void)[] = []
  #changeCount = 0
  #isRestored!: () => void

  /** @param checkpointed what the checkpoint says; undefined: nobody has consumed outcomes */
  constructor(options: OutcomesOptions, checkpointed: OutcomePositions | undefined) {
    this.#options = options
    this.#side = new SideLog(options)
    this.#checkpointed = checkpointed
    this.#from = checkpointed?.from ?? nowhere
    this.#skip = checkpointed?.skip ?? 0
    this.#number = checkpointed?.number ?? 0
    for (const { name, cursor } of checkpointed?.consumers ?? []) {
      const consumer = { name, cursor, isReading: false, isKept: true }
      this.#consumers.add(consumer)
      this.#late.add(consumer)
    }
  }

  /** undefined: nobody has consumed outcomes. */
  get log(): LaneLog | undefined {
    return this.#kept?.log
  }

  /** For readers, when `restored` has settled and a consumer was added. */
  get kept(): KeptOutcomes | undefined {
    return this.#kept
  }

  /** Records say what outcomes need. */
  get isOn(): boolean {
    return this.#consumers.size > 0
  }

  /** The number of the last outcome that can be read. */
  get number(): number {
    return this.#number
  }

  get consumers(): Iterable<Consumer> {
    return this.#consumers
  }

  /** Opens what earlier lives have left, before the first checkpoint of this one.
   * @returns undefined when there is nothing to wait for */
  restore(): Promise<void> | undefined {
    const positions = this.#checkpointed
    if (positions === undefined) {
      this.#isRestored()
      return undefined
    }
    return this.#reopen(positions).then(() => this.#isRestored())
  }

  /** Settles when `restore` has ended. */
  readonly restored: Promise<void> = new Promise((resolve) => (this.#isRestored = resolve))

  /** Settles when a number is there, or all that was durable is copied: numbers that consumers of
   * the life before have seen come again by that. */
  async reaches(number: number): Promise<void> {
    const end = this.#options.journal.durableEnd
    while (number > this.#number && this.#from < end && this.#copying !== undefined && !this.#isOver)
      await Promise.race([this.#copying, this.change(this.#changeCount)])
  }

  /** What is still copied for a last consumer that has gone: it comes to its end before another one
   * is added. undefined: nothing is. */
  get leftover(): Promise<void> | undefined {
    return this.isOn ? undefined : this.#copying
  }

  /** From this step on outcomes are recorded for it. There is no `leftover`.
   * @param restored waits for `restore`, or the end of this life @returns when the log is there */
  async add(consumer: Consumer, restored: () => Promise<void>): Promise<void> {
    if (!this.isOn) {
      this.#from = this.#options.journal.end
      this.#skip = 0
    }
    this.#consumers.add(consumer)
    try {
      await restored()
      await this.#opened()
    } catch (error) {
      this.#consumers.delete(consumer)
      throw error
    }
    this.copy()
  }

  remove(consumer: Consumer): void {
    this.#consumers.delete(consumer)
    this.wake()
    this.#options.onAcknowledged()
  }

  /** It is done with the outcome. */
  acknowledge(consumer: Consumer, number: number): void {
    if (number <= consumer.cursor) return
    consumer.cursor = number
    this.#options.onAcknowledged()
    if (number >= this.#leftNumber && this.#late.delete(consumer)) this.#options.onCaughtUp()
  }

  /** The journal may have more that is durable, or the log room. */
  copy(): void {
    if (this.#copying !== undefined || !this.isOn || this.#kept === undefined || this.#isOver) return
    if (this.#from >= this.#options.journal.durableEnd) return
    this.#copying = this.#copyAll(this.#kept).finally(() => {
      this.#copying = undefined
      // More may have become durable since it saw the end.
      this.copy()
    })
    this.#options.run(this.#copying)
  }

  /** The end of this life, too: readers look. */
  wake(): void {
    this.#changeCount++
    for (const look of this.#waiting.splice(0)) look()
  }

  stop(): void {
    this.#isOver = true
    this.wake()
  }

  /** For `change`: asked before a look that found nothing. */
  get changeCount(): number {
    return this.#changeCount
  }

  /** Settles when something has changed since the count. */
  change(since: number): Promise<void> {
    if (this.#changeCount !== since) return Promise.resolve()
    return new Promise((look) => this.#waiting.push(look))
  }

  /** @returns what a checkpoint says, and the first frame of the journal that it may not pass */
  capture(journalEnd: Position, timeMs: number): { said: OutcomePositions | undefined; from: Position } {
    const kept = this.#kept
    if (!this.isOn) {
      this.#from = journalEnd
      this.#skip = 0
    }
    const from = this.#from
    if (kept === undefined) return { said: undefined, from: this.isOn ? from : journalEnd }
    const end = kept.log.pad(timeMs)
    const consumers = [...this.#consumers].flatMap(({ name, cursor }) =>
      name === undefined ? [] : [{ name, cursor }],
    )
    const cursor = Math.min(...[...this.#consumers].map((consumer) => consumer.cursor), this.#number)
    const floor = kept.forget(cursor, this.#options.bytesMax)
    return {
      said: { floor, end, from, skip: this.#skip, number: this.#number, consumers },
      from,
    }
  }

  async #copyAll(kept: KeptOutcomes): Promise<void> {
    const { journal } = this.#options
    while (this.isOn && this.#from < journal.durableEnd && !this.#isOver) {
      const { outcomes, next } = await this.#readJournal()
      for (let i = this.#skip; i < outcomes.length; i++) {
        if (this.#isOver || !this.isOn) return
        const outcome = outcomes[i]!
        if (outcome.spool > 0) await this.#addMessageId(outcome)
        const record = kept.recordOf(outcome, this.#number + 1)
        if (!kept.hasRoom(record)) await this.#room(kept, record)
        this.#append(kept, record)
      }
      this.#from = next
      // A life whose steps were longer may have copied more than this step has.
      this.#skip = Math.max(0, this.#skip - outcomes.length)
      this.wake()
      if (this.#leftEnd !== undefined && next >= this.#leftEnd) this.#leftIsCopied()
    }
  }

  /** Lives that end before their next checkpoint would keep the journal of all of them, and give
   * their consumers everything again. */
  #leftIsCopied(): void {
    this.#leftEnd = undefined
    this.#leftNumber = this.#number
    for (const consumer of this.#late) if (consumer.cursor >= this.#number) this.#late.delete(consumer)
    this.#options.onCaughtUp()
  }

  async #readJournal(): Promise<{ outcomes: JournalOutcome[]; next: Position }> {
    const { journal } = this.#options
    const end = journal.durableEnd
    const outcomes: JournalOutcome[] = []
    try {
      const next = await journal.read(this.#from, end, (window, at, place) => {
        const frame = {
          kind: kindAt(window, at),
          lane: classAt(window, at),
          timeMs: timeAt(window, at),
          position: place,
          payload: payloadAt(window, at),
        }
        this.#fromJournal.of(frame, outcomes)
        const isStep = outcomes.length >= copiedMax || place - this.#from >= stepBytesMax
        return isStep && !this.#fromJournal.isPending
      })
      this.#fromJournal.end(outcomes)
      return { outcomes, next }
    } catch (error) {
      this.#side.lost(error)
      this.#fromJournal.end([])
      // What stands behind the end was never copied.
      this.#skip = Math.min(this.#skip, outcomes.length)
      return { outcomes, next: end }
    }
  }

  /** Settles when there is room, or none to be had. */
  async #room(kept: KeptOutcomes, record: OutcomeRecord): Promise<void> {
    while (!kept.hasRoom(record) && !kept.log.diskFull && !this.#isOver && this.isOn)
      await this.change(this.#changeCount)
  }

  /** Where the disk is full the outcome is left out: its number is missing. */
  #append(kept: KeptOutcomes, record: OutcomeRecord): void {
    this.#number++
    this.#skip++
    if (!this.#isOver && kept.hasRoom(record)) kept.append(record)
  }

  /** What has ended meanwhile may have no file. */
  async #addMessageId(outcome: JournalOutcome): Promise<void> {
    const head = await this.#options.spoolHead(outcome.spool).catch(() => undefined)
    outcome.messageId = (head && messageIdIn(head)) ?? ''
  }

  async #opened(): Promise<void> {
    const log = await this.#side.opened()
    this.#kept ??= new KeptOutcomes(log, undefined)
  }

  async #reopen({ floor, end }: OutcomePositions): Promise<void> {
    const isWhole = await this.#side.reopen(end)
    this.#kept = new KeptOutcomes(this.#side.log!, isWhole ? floor : undefined)
    this.#leftEnd = this.#options.journal.durableEnd
    this.copy()
  }
}
