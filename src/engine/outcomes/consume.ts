/** Outcomes for one consumer, in their order.
 * Invariant: an outcome counts as consumed when the consumer asks for the next one. A crash before
 * that, or before the checkpoint that says it, gives it again: at least once, never not at all. */
import { onAbort } from '../../base/on-abort.js'
import {
  checkOptionNames,
  integerOption,
  isRecordText,
  signalOption,
  type OptionNames,
} from '../../base/options.js'
import type { Position } from '../../base/position.js'
import { WaybillError } from '../../errors.js'
import { readMax, type ReadOutcomes } from './kept-outcomes.js'
import type { Consumer, Outcomes } from './outcomes.js'
import type { QueueOutcome } from '../../record/outcome.js'

export interface OutcomesRequest {
  /** Name of the consumer, 1 … 64 bytes. From its first call on the queue keeps its cursor and the
   * outcomes behind it, in all lives, until `forgetConsumer`. Default: no name; outcomes are
   * recorded while the iteration goes on. */
  readonly consumer?: string | undefined
  /** Number of the first outcome, at most the one behind the last that there is. Default: the one
   * behind the consumer's cursor; without a name, the next one that happens. */
  readonly from?: number | undefined
  /** The consumer acknowledges outcomes by `acknowledge` alone, and not by asking for the next one:
   * for a consumer behind a network. Default: false. */
  readonly acknowledges?: boolean | undefined
  /** Ends the iteration. */
  readonly signal?: AbortSignal | undefined
}

/** Outcomes that cannot be read any more: they were more than `outcomeBytesMax` behind, or the disk
 * was full. */
export interface OutcomeGap {
  readonly kind: 'gap'
  /** Numbers, inclusive. */
  readonly from: number
  readonly to: number
}

/** What a consumer acknowledges when it is done with the item. */
export const lastNumberOf = (item: QueueOutcome | OutcomeGap): number =>
  item.kind === 'gap' ? item.to : item.number

export interface OutcomeBatchesRequest extends OutcomesRequest {
  /** The most items of a batch, 1 … 1000. Default 100. */
  readonly max?: number | undefined
}

/** A misspelt `consumer` would be a reader that forgets, and whose program loses outcomes. */
const requestNames: OptionNames<OutcomesRequest> = {
  consumer: true,
  from: true,
  acknowledges: true,
  signal: true,
}
const batchesNames: OptionNames<OutcomeBatchesRequest> = { ...requestNames, max: true }

/** Consumers of a queue, readers without a name included. */
const consumersMax = 32
const nameBytesMax = 64
const batchMaxDefault = 100
const batchCountMax = 1000

/** What consuming needs of a life. */
export interface ConsumingLife {
  readonly check: () => void
  /** What the work comes to, or the end of this life. */
  readonly orEnd: (work: Promise<void>) => Promise<void>
  /** Settles when a checkpoint says what is true now. */
  readonly checkpoint: () => Promise<void>
}

/** @param engine whose checkpoints make a cursor durable */
export const consumingLifeOf = (
  life: Pick<ConsumingLife, 'check' | 'orEnd'>,
  engine: { whenRecovered(): Promise<void>; checkpoint(): Promise<void> },
): ConsumingLife => ({
  check: () => life.check(),
  orEnd: (work) => life.orEnd(work),
  checkpoint: async () => {
    await engine.whenRecovered()
    await engine.checkpoint()
  },
})

/** One outcome after the other.
 * @throws WaybillError OPTION_INVALID, DISK_FULL, LOG_CORRUPT, QUEUE_CRASHED */
export const consume = (
  outcomes: Outcomes,
  life: ConsumingLife,
  request: OutcomesRequest,
): AsyncGenerator<QueueOutcome | OutcomeGap, void> =>
  endable((ended) => oneByOne(outcomes, life, request, ended))

/** As many as there are, up to `max`: a consumer is done with all of them when it asks for the
 * next.
 * @throws as `consume` */
export const consumeBatches = (
  outcomes: Outcomes,
  life: ConsumingLife,
  request: OutcomeBatchesRequest,
): AsyncGenerator<readonly (QueueOutcome | OutcomeGap)[], void> =>
  endable((ended) => inBatches(outcomes, life, request, ended))

/** A generator would let `return` wait until the `next` before it has an outcome. */
function endable<T>(begin: (ended: AbortSignal) => AsyncGenerator<T, void>): AsyncGenerator<T, void> {
  const controller = new AbortController()
  const items = begin(controller.signal)
  const end = (value?: void | PromiseLike<void>): Promise<IteratorResult<T, void>> => {
    controller.abort()
    return items.return(value)
  }
  return {
    next: () => items.next(),
    return: end,
    throw: (error: unknown) => {
      controller.abort()
      return items.throw(error)
    },
    [Symbol.asyncIterator]() {
      return this
    },
    [Symbol.asyncDispose]: async () => {
      await end()
    },
  }
}

async function* oneByOne(
  outcomes: Outcomes,
  life: ConsumingLife,
  request: OutcomesRequest,
  ended: AbortSignal,
): AsyncGenerator<QueueOutcome | OutcomeGap, void> {
  checkOptionNames(request, requestNames)
  const reading = await Reading.begin(outcomes, life, request, ended)
  try {
    for (let items = await reading.items(); items.length > 0; items = await reading.items())
      for (const item of items) {
        if (reading.isAborted) return
        yield item
        reading.done(item)
        life.check()
      }
  } finally {
    reading.end()
  }
}

async function* inBatches(
  outcomes: Outcomes,
  life: ConsumingLife,
  asked: OutcomeBatchesRequest,
  ended: AbortSignal,
): AsyncGenerator<readonly (QueueOutcome | OutcomeGap)[], void> {
  checkOptionNames(asked, batchesNames)
  const { max = batchMaxDefault, ...request } = asked
  integerOption('max', max, 1, batchCountMax)
  const reading = await Reading.begin(outcomes, life, request, ended)
  try {
    for (let items = await reading.items(); items.length > 0; items = await reading.items())
      for (let at = 0; at < items.length; at += max) {
        if (reading.isAborted) return
        const batch = items.slice(at, at + max)
        yield batch
        reading.done(batch.at(-1)!)
        life.check()
      }
  } finally {
    reading.end()
  }
}

/** Of one consumer, while it iterates. */
class Reading {
  readonly #outcomes: Outcomes
  readonly #life: ConsumingLife
  readonly #consumer: Consumer
  /** Of the request, and of the end of the iteration. */
  readonly #signals: readonly (AbortSignal | undefined)[]
  readonly #acknowledges: boolean
  readonly #deaf: readonly (() => void)[]
  #next: number
  #place: Position | undefined
  /** The read behind what the consumer has. */
  #begun: Promise<ReadOutcomes | undefined> | undefined

  private constructor(
    outcomes: Outcomes,
    life: ConsumingLife,
    consumer: Consumer,
    { from, signal, acknowledges = false }: OutcomesRequest,
    ended: AbortSignal,
  ) {
    this.#outcomes = outcomes
    this.#life = life
    this.#consumer = consumer
    this.#signals = [signal, ended]
    this.#acknowledges = acknowledges && consumer.name !== undefined
    this.#next = from ?? consumer.cursor + 1
    this.#deaf = this.#signals.map((one) => onAbort(one, () => outcomes.wake()))
  }

  /** @param ended the consumer has ended the iteration */
  static async begin(
    outcomes: Outcomes,
    life: ConsumingLife,
    request: OutcomesRequest,
    ended: AbortSignal,
  ): Promise<Reading> {
    const { consumer: name, from, signal } = request
    signalOption(signal)
    if (name !== undefined && !isRecordText(name, nameBytesMax))
      throw new WaybillError('OPTION_INVALID', `a consumer has a name of 1 to ${nameBytesMax} bytes`, {
        option: 'consumer',
      })
    if (from !== undefined) integerOption('from', from, 1, Number.MAX_SAFE_INTEGER)
    life.check()
    const isNew = consumerNamed(outcomes, name) === undefined
    const consumer = await joined(outcomes, life, name)
    try {
      if (from !== undefined) await checkNumber(outcomes, life, 'from', from, 1)
    } catch (error) {
      consumer.isReading = false
      if (isNew) outcomes.remove(consumer)
      throw error
    }
    return new Reading(outcomes, life, consumer, request, ended)
  }

  get isAborted(): boolean {
    return this.#signals.some((signal) => signal?.aborted === true)
  }

  /** The next ones, gaps among them; none when the signal is aborted. */
  async items(): Promise<(QueueOutcome | OutcomeGap)[]> {
    while (!this.isAborted) {
      this.#life.check()
      const { changeCount } = this.#outcomes
      const { outcomes, next } = await this.#read()
      const isAtEnd = next === this.#place
      this.#place = next
      if (outcomes.length > 0) return this.#withGaps(outcomes)
      if (isAtEnd) await this.#outcomes.change(changeCount)
    }
    return []
  }

  /** What was begun behind the last ones, and, where that met the end, what came since: a consumer
   * that asks seldom would be one batch late. */
  async #read(): Promise<ReadOutcomes> {
    const begun = this.#begun
    this.#begun = undefined
    const found = await begun
    const kept = this.#outcomes.kept!
    if (found === undefined) return kept.read(this.#next, this.#place)
    if (found.outcomes.length >= readMax) return found
    const from = (found.outcomes.at(-1)?.number ?? this.#next - 1) + 1
    const { outcomes, next } = await kept.read(from, found.next)
    return { outcomes: [...found.outcomes, ...outcomes], next }
  }

  #withGaps(outcomes: readonly QueueOutcome[]): (QueueOutcome | OutcomeGap)[] {
    const items: (QueueOutcome | OutcomeGap)[] = []
    for (const outcome of outcomes) {
      if (outcome.number > this.#next) items.push({ kind: 'gap', from: this.#next, to: outcome.number - 1 })
      items.push(outcome)
      this.#next = outcome.number + 1
    }
    // While the consumer has these, the disk has the next ones. What fails is read again.
    this.#begun = this.#outcomes.kept!.read(this.#next, this.#place).catch(() => undefined)
    return items
  }

  done(item: QueueOutcome | OutcomeGap): void {
    if (this.#acknowledges) return
    this.#outcomes.acknowledge(this.#consumer, lastNumberOf(item))
  }

  end(): void {
    for (const deaf of this.#deaf) deaf()
    this.#consumer.isReading = false
    if (this.#consumer.name === undefined) this.#outcomes.remove(this.#consumer)
  }
}

/** The consumer of this name, from this step on if there is none:
 *    1. a program begins to consume, and submits a message in the same step
 *    2. the message is delivered, durably
 *    3. the consumer is known a step later: it sees neither that delivery nor a gap */
async function joined(outcomes: Outcomes, life: ConsumingLife, name: string | undefined): Promise<Consumer> {
  const isNew = consumerNamed(outcomes, name) === undefined
  if (!isNew) await life.orEnd(outcomes.restored)
  // Another reader of the name may come meanwhile, so it is looked for behind that.
  for (let left = outcomes.leftover; left !== undefined; left = outcomes.leftover) await left
  const known = consumerNamed(outcomes, name)
  if (known?.isReading === true)
    throw new WaybillError('OPTION_INVALID', `'${name}' is consuming already`, { option: 'consumer' })
  if (known !== undefined) {
    known.isReading = true
    return known
  }
  if ([...outcomes.consumers].length >= consumersMax)
    throw new WaybillError('OPTION_INVALID', `a queue has at most ${consumersMax} consumers`, {
      option: 'consumer',
    })
  const consumer: Consumer = { name, cursor: outcomes.number, isReading: true, isKept: false }
  await outcomes.add(consumer, () => life.orEnd(outcomes.restored))
  if (name === undefined) return consumer
  try {
    await life.checkpoint()
  } catch (error) {
    outcomes.remove(consumer)
    throw error
  }
  consumer.isKept = true
  return consumer
}

const consumerNamed = (outcomes: Outcomes, name: string | undefined): Consumer | undefined =>
  name === undefined ? undefined : [...outcomes.consumers].find((consumer) => consumer.name === name)

export interface ConsumerStatus {
  readonly name: string
  /** Number of the last outcome that the consumer has acknowledged; 0: none. */
  readonly cursor: number
  /** Number of the last outcome recorded; 0: none. */
  readonly last: number
}

/** The consumers whose names are durable. */
export const statusOf = (outcomes: Outcomes): ConsumerStatus[] =>
  [...outcomes.consumers].flatMap(({ name, cursor, isKept }) =>
    name !== undefined && isKept ? [{ name, cursor, last: outcomes.number }] : [],
  )

/** A number that the queue has not come to is none that the consumer has seen: of another queue, or
 * of a newer copy of this one. From there on nothing would come for long.
 * @param least 0: of the last outcome that was seen, 1: of the one behind it
 * @throws WaybillError OPTION_INVALID */
async function checkNumber(
  outcomes: Outcomes,
  life: ConsumingLife,
  option: string,
  number: number,
  least: 0 | 1,
): Promise<void> {
  await life.orEnd(outcomes.reaches(number - least))
  integerOption(option, number, least, outcomes.number + least)
}

/** Acknowledges all outcomes up to this number. @returns false when there is no such consumer
 * @throws WaybillError OPTION_INVALID for a number that no outcome has */
export async function acknowledge(
  outcomes: Outcomes,
  life: ConsumingLife,
  name: string,
  number: number,
): Promise<boolean> {
  life.check()
  await life.orEnd(outcomes.restored)
  await checkNumber(outcomes, life, 'number', number, 0)
  const consumer = consumerNamed(outcomes, name)
  if (consumer === undefined) return false
  outcomes.acknowledge(consumer, number)
  return true
}

/** Removes a consumer, durably. @returns false when there is no such consumer
 * @throws WaybillError by rejection: OPTION_INVALID while it is consuming */
export async function forget(outcomes: Outcomes, life: ConsumingLife, name: string): Promise<boolean> {
  life.check()
  await life.orEnd(outcomes.restored)
  const consumer = consumerNamed(outcomes, name)
  if (consumer === undefined) return false
  if (consumer.isReading)
    throw new WaybillError('OPTION_INVALID', `'${name}' is consuming`, { option: 'consumer' })
  outcomes.remove(consumer)
  await life.checkpoint()
  return true
}
