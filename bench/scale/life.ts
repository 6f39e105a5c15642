/** A life of a queue in another process, as its parent sees it. It ends only by SIGKILL. */
import { AskedProcess } from '../asked-process.js'
import type { Slice } from '../contenders/contender.js'
import type { Answer, Deleted, Deletion, Opened, Opening, Order } from './queue-life.js'

export class Life {
  readonly opened: Opened
  readonly #process: AskedProcess<Order, Answer>

  private constructor(process: AskedProcess<Order, Answer>, opened: Opened) {
    this.#process = process
    this.opened = opened
  }

  static async open(opening: Opening): Promise<Life> {
    const process = new AskedProcess<Order, Answer>(new URL('./queue-life.js', import.meta.url))
    const answer = await process.ask({ kind: 'open', ...opening })
    if (answer.kind !== 'opened') throw new Error('the queue was not opened')
    return new Life(process, answer)
  }

  get processId(): number {
    return this.#process.processId
  }

  /** Workload Q for so long. */
  async slice(producerCount: number, durationMs: number): Promise<Slice> {
    const answer = await this.#process.ask({ kind: 'slice', producerCount, durationMs })
    if (answer.kind !== 'slice') throw new Error('the queue gave no slice')
    return answer.slice
  }

  /** Workload Q, without an answer. */
  beginLoad(producerCount: number, durationMs: number): void {
    this.#process.begin({ kind: 'slice', producerCount, durationMs })
  }

  async delete(deletion: Deletion): Promise<Deleted> {
    const answer = await this.#process.ask({ kind: 'delete', ...deletion })
    if (answer.kind !== 'deleted') throw new Error('the queue deleted nothing')
    return answer.deleted
  }

  kill(): Promise<void> {
    return this.#process.kill()
  }
}
