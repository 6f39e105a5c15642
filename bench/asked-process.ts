/** A process of ours that answers orders one after the other.
 * Invariant: one order is open at a time; if the process ends, the open order rejects; no process
 * outlives this one. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export class AskedProcess<Order extends object, Answer> {
  readonly #child: ChildProcess
  readonly #endWithUs: () => void

  /** @param module that calls `answering` */
  constructor(module: URL, environment: NodeJS.ProcessEnv = {}) {
    const child = fork(fileURLToPath(module), {
      env: { ...process.env, ...environment },
      execArgv: [...process.execArgv, '--expose-gc'],
      // JSON makes null of Infinity.
      serialization: 'advanced',
    })
    this.#child = child
    this.#endWithUs = () => void child.kill('SIGKILL')
    process.once('exit', this.#endWithUs)
  }

  get processId(): number {
    return this.#child.pid!
  }

  ask(order: Order): Promise<Answer> {
    const child = this.#child
    return new Promise((resolve, reject) => {
      const ended = (code: number | null): void => reject(new Error(`the process ended with ${code}`))
      child.once('exit', ended)
      child.once('message', (answer: Answer) => {
        child.off('exit', ended)
        resolve(answer)
      })
      child.send(order)
    })
  }

  /** Ends it without an answer. */
  begin(order: Order): void {
    this.#child.send(order)
  }

  async kill(): Promise<void> {
    process.off('exit', this.#endWithUs)
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const ended = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await ended
  }
}

/** In the other process. An order that fails ends it. */
export function answering<Order, Answer>(obey: (order: Order) => Promise<Answer>): void {
  process.on('message', (order: Order) => {
    obey(order).then(
      (answer) => process.send!(answer),
      (error: unknown) => {
        console.error(error)
        process.exit(1)
      },
    )
  })
}
