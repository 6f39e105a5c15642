/** Keeps the history of a queue's mail: a named consumer of its outcomes writes them into files.
 * Invariant: mail never waits for it. What cannot be written is tried again later, from the
 * outcomes that the queue keeps, and what it cannot keep for so long is missing. */
import { thrownText } from '../base/realms.js'
import type { Timer } from '../base/clock.js'
import { pause } from '../base/clock.js'
import { checkOptionNames, integerOption } from '../base/options.js'
import type { Disk } from '../disk/disk.js'
import { lastNumberOf, type OutcomeBatchesRequest, type OutcomeGap } from '../engine/outcomes/consume.js'
import type { LifeClock } from '../engine/life/life.js'
import { nowOf } from '../engine/settle/message-age.js'
import { isWaybillError, type ErrorCode } from '../errors.js'
import type { QueueOutcome } from '../record/outcome.js'
import { historyConsumer } from './history-files.js'
import { HistoryWriter, type HistoryBounds } from './history-writer.js'

export interface HistoryOptions {
  /** How long entries are kept, milliseconds, 1 hour … 10 years. Default 7 days. */
  readonly retentionMs?: number | undefined
  /** The most bytes of all files together, 32 MiB … 1 TiB. Default 1 GiB. */
  readonly bytesMax?: number | undefined
}

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const gibibyte = 1024 ** 3
const againMs = 60_000
/** Each batch takes a block at least: outcomes are gathered for so long. */
const gatherMs = 2000

/** @throws WaybillError OPTION_INVALID */
export function historyBounds(options: HistoryOptions): HistoryBounds {
  checkOptionNames(options, { retentionMs: true, bytesMax: true }, 'history')
  const { retentionMs = 7 * dayMs, bytesMax = gibibyte } = options
  return {
    retentionMs: integerOption('history.retentionMs', retentionMs, hourMs, 3650 * dayMs),
    bytesMax: integerOption('history.bytesMax', bytesMax, 32 * 1024 * 1024, 1024 * gibibyte),
  }
}

export interface HistoryParts {
  readonly disk: Disk
  /** It stops with the life of the queue. */
  readonly clock: LifeClock
  readonly queue: {
    outcomeBatches(request: OutcomeBatchesRequest): AsyncIterable<readonly (QueueOutcome | OutcomeGap)[]>
    acknowledge(consumer: string, number: number): Promise<boolean>
  }
  readonly isOver: () => boolean
  readonly warn: (warning: { readonly code: ErrorCode; readonly message: string }) => void
}

const batchMax = 1000

/** As long as the queue lives. */
export class History {
  readonly #parts: HistoryParts
  readonly #writer: HistoryWriter
  /** One after the other: entries, and the removal of files. */
  #turn: Promise<void> = Promise.resolve()
  #timer: Timer | undefined

  constructor(parts: HistoryParts, bounds: HistoryBounds) {
    this.#parts = parts
    this.#writer = new HistoryWriter(parts.disk, bounds)
  }

  async run(): Promise<void> {
    this.#trimLater()
    const { queue, isOver, clock } = this.#parts
    const request = { consumer: historyConsumer, max: batchMax, acknowledges: true }
    while (!isOver()) {
      try {
        for await (const batch of queue.outcomeBatches(request)) {
          await this.#inTurn(() => this.#writer.append(batch, nowOf(clock)))
          // Not behind the pause: a life may end in it.
          await queue.acknowledge(historyConsumer, lastNumberOf(batch.at(-1)!))
          if (batch.length < batchMax) await pause(clock, gatherMs, undefined)
        }
        return
      } catch (error) {
        if (isOver()) break
        this.#tell(error)
        await pause(clock, againMs, undefined)
      }
    }
    this.#timer?.cancel()
  }

  #trimLater(): void {
    const { clock, isOver } = this.#parts
    this.#timer = clock.after(hourMs, () => {
      if (isOver()) return
      this.#inTurn(() => this.#writer.trim(nowOf(clock))).catch((error: unknown) => this.#tell(error))
      this.#trimLater()
    })
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(work)
    this.#turn = done.catch(() => this.#writer.giveUp().catch(() => undefined))
    return done
  }

  #tell(error: unknown): void {
    if (this.#parts.isOver()) return
    const words = thrownText(error)
    const code = isWaybillError(error) ? error.code : 'DISK_FAILED'
    this.#parts.warn({ code, message: `the history cannot be written; tried again in a minute: ${words}` })
  }
}
