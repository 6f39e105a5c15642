/** Outcomes for one consumer, in their order.
 * Invariant: an outcome counts as consumed when the consumer asks for the next one. A crash before
 * that, or before the checkpoint that says it, gives it again: at least once, never not at all. */
import { onAbort } from '../../base/on-abort.js'
import { integerOption, isRecordText, signalOption } from '../../base/option-values.js'
import type { Position } from '../../base/position.js'
import { WaybillError } from '../../errors.js'
import { consumersMax, type Outcomes, type Consumer } from './outcomes.js'
import type { QueueOutcome } from '../../record/outcome.js'

export interface OutcomesRequest {
  /** Its name, 1 … 64 bytes. The queue keeps its cursor, and its outcomes, from the first call on, in
   * all lives, until `forgetConsumer`. Default: outcomes are recorded while the iteration goes on. */
  readonly consumer?: string
  /** The number of the first outcome that is wanted. Default: behind the consumer's cursor; without a
   * consumer, what happens from now on. */
  readonly from?: number
  /** Ends the iteration. */
  readonly signal?: AbortSignal
}

/** Outcomes that cannot be read any more: they were more than `outcomeBytesMax` behind, or the disk
 * was full. */
export interface OutcomeGap {
  readonly kind: 'gap'
  /** Numbers, inclusive. */
  readonly from: number
  readonly to: number
}

const nameBytesMax = 64

/** What consuming needs of a life. */
export interface ConsumingLife {
  readonly check: () => void
  /** What the work comes to, or the end of this life. */
  readonly orEnd: (work: Promise<void>) => Promise<void>
  /** Settles when a checkpoint says what is true now. */
  readonly checkpoint: () => Promise<void>
}

/** @throws WaybillError OPTION_INVALID, CONSUMERS_TOO_MANY, DISK_FULL, LOG_CORRUPT, QUEUE_CRASHED */
export async function* consume(
  outcomes: Outcomes,
  life: ConsumingLife,
  { consumer: name, from, signal }: OutcomesRequest,
): AsyncGenerator<QueueOutcome | OutcomeGap, void> {
  signalOption(signal)
  if (name !== undefined && !isRecordText(name, nameBytesMax))
    throw new WaybillError('OPTION_INVALID', `a consumer has a name of 1 to ${nameBytesMax} bytes`, {
      option: 'consumer',
    })
  if (from !== undefined) integerOption('from', from, 1, Number.MAX_SAFE_INTEGER)
  life.check()
  const consumer = await joined(outcomes, life, name)
  const deaf = onAbort(signal, () => outcomes.wake())
  try {
    let next = from ?? consumer.cursor + 1
    let place: Position | undefined
    const isAborted = (): boolean => signal?.aborted === true
    while (!isAborted()) {
      life.check()
      const { changeCount } = outcomes
      const read = await outcomes.kept!.read(next, place)
      place = read.next
      if (read.outcomes.length === 0) {
        await outcomes.change(changeCount)
        continue
      }
      for (const outcome of read.outcomes) {
        if (outcome.number > next) yield { kind: 'gap', from: next, to: outcome.number - 1 }
        if (isAborted()) return
        yield outcome
        next = outcome.number + 1
        outcomes.acknowledge(consumer, outcome.number)
        if (isAborted()) return
        life.check()
      }
    }
  } finally {
    deaf()
    consumer.isReading = false
    if (name === undefined) outcomes.remove(consumer)
  }
}

/** The consumer of this name, from now on if there is none. */
async function joined(outcomes: Outcomes, life: ConsumingLife, name: string | undefined): Promise<Consumer> {
  await life.orEnd(outcomes.restored)
  const known = name === undefined ? undefined : consumerNamed(outcomes, name)
  if (known?.isReading === true)
    throw new WaybillError('OPTION_INVALID', `'${known.name}' is consuming already`, { option: 'consumer' })
  if (known !== undefined) {
    known.isReading = true
    return known
  }
  if ([...outcomes.consumers].length >= consumersMax)
    throw new WaybillError('OPTION_INVALID', `a queue has at most ${consumersMax} consumers`, {
      option: 'consumer',
    })
  const consumer: Consumer = { name, cursor: outcomes.number, isReading: true, isKept: false }
  await outcomes.add(consumer)
  if (name === undefined) return consumer
  await life.checkpoint()
  consumer.isKept = true
  return consumer
}

const consumerNamed = (outcomes: Outcomes, name: string): Consumer | undefined =>
  [...outcomes.consumers].find((consumer) => consumer.name === name)

export interface ConsumerStatus {
  readonly name: string
  readonly cursor: number
  readonly last: number
}

export const statusOf = (outcomes: Outcomes): ConsumerStatus[] =>
  [...outcomes.consumers].flatMap(({ name, cursor, isKept }) =>
    name !== undefined && isKept ? [{ name, cursor, last: outcomes.number }] : [],
  )

/** @throws WaybillError OPTION_INVALID while it is consuming */
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
