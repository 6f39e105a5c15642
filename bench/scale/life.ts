/** A life of a queue in another process, as its parent sees it. It ends by SIGKILL and no other way. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Slice } from '../contenders/contender.js'
import type { Answer, Opened, Order } from './queue-life.js'

export interface Opening {
  readonly directory: string
  /** What the queue's clock shows when it is opened, milliseconds since 1970. */
  readonly wallAtMs: number
  /** Whether deferred mail is due by then; if so the life waits for its first attempt. */
  readonly isDue: boolean
}

export class Life {
  readonly opened: Opened
  readonly #child: ChildProcess
  readonly #endWithUs: () => void

  private constructor(child: ChildProcess, opened: Opened, endWithUs: () => void) {
    this.#child = child
    this.opened = opened
    this.#endWithUs = endWithUs
  }

  static async open(opening: Opening): Promise<Life> {
    const child = fork(fileURLToPath(new URL('./queue-life.js', import.meta.url)), {
      execArgv: [...process.execArgv, '--expose-gc'],
    })
    const endWithUs = (): void => void child.kill('SIGKILL')
    process.once('exit', endWithUs)
    const answer = await asked(child, { kind: 'open', ...opening })
    if (answer.kind !== 'opened') throw new Error('the queue was not opened')
    return new Life(child, answer, endWithUs)
  }

  /** Workload Q for so long. */
  async slice(producerCount: number, durationMs: number): Promise<Slice> {
    const answer = await asked(this.#child, { kind: 'slice', producerCount, durationMs })
    if (answer.kind !== 'slice') throw new Error('the queue gave no slice')
    return answer.slice
  }

  /** Workload Q, of which nothing more is heard. */
  beginLoad(producerCount: number, durationMs: number): void {
    this.#child.send({ kind: 'slice', producerCount, durationMs } satisfies Order)
  }

  async kill(): Promise<void> {
    process.off('exit', this.#endWithUs)
    const ended = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await ended
  }
}

function asked(child: ChildProcess, order: Order): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null): void => reject(new Error(`the queue's process ended with ${code}`))
    child.once('exit', ended)
    child.once('message', (answer: Answer) => {
      child.off('exit', ended)
      resolve(answer)
    })
    child.send(order)
  })
}
