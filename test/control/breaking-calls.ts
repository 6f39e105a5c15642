/** Calls of which one question goes wrong: its connection breaks before it has happened, or before
 * its answer comes. */
import { WaybillError } from '../../src/errors.js'
import type { CallConnection, CallStore } from '../../src/store/calls.js'
import { unknown, type Answer } from '../../src/store/store.js'

export type Break = 'before it happens' | 'before its answer'

/** What is no question to the store. */
const silent: ReadonlySet<unknown> = new Set(['onNotice', 'close'])

export class BreakingStore implements CallStore {
  readonly name: string
  readonly #store: CallStore
  #breakAt: number
  readonly #way: Break
  /** Of all connections. */
  questionCount: number = 0

  /** @param breakAt the number of the question, from 1 on; 0: none breaks */
  constructor(store: CallStore, breakAt: number, way: Break) {
    this.name = store.name
    this.#store = store
    this.#breakAt = breakAt
    this.#way = way
  }

  /** Nothing breaks from now on. */
  calm(): void {
    this.#breakAt = 0
  }

  async connectCalls(): Promise<Answer<CallConnection>> {
    const connected = await this.#store.connectCalls()
    if (connected.kind !== 'done') return connected
    const { calls, session } = connected.value
    const end = (): void => calls.close()
    return { kind: 'done', value: { calls: this.#asking(calls, end), session: this.#asking(session, end) } }
  }

  #asking<T extends object>(target: T, end: () => void): T {
    const get = (_: T, key: string | symbol): unknown => {
      const member: unknown = Reflect.get(target, key)
      if (typeof member !== 'function' || silent.has(key))
        return typeof member === 'function' ? member.bind(target) : member
      const question = member as (...values: readonly unknown[]) => Promise<Answer<unknown>>
      return (...values: readonly unknown[]) => this.#ask(() => question.apply(target, [...values]), end)
    }
    return new Proxy(target, { get })
  }

  async #ask(question: () => Promise<Answer<unknown>>, end: () => void): Promise<Answer<unknown>> {
    if (++this.questionCount !== this.#breakAt) return question()
    if (this.#way === 'before its answer') await question()
    end()
    return unknown(new WaybillError('STORE_UNREACHABLE', 'the connection broke'))
  }
}
