/** A store with one queue, in memory, for calls: what PostgreSQL does with unlogged tables. */
import type { CallConnection, CallEnd, CallStore, Calls, OwnLife, Received } from '../../src/store/calls.js'
import { done, refused, unknown, type Answer, type Session } from '../../src/store/store.js'
import { WaybillError } from '../../src/errors.js'

interface Call {
  readonly name: string
  readonly caller: MemoryCalls
  taker: MemoryCalls | undefined
  isOver: boolean
  /** By the end that sent them. */
  readonly pieces: { readonly [end in CallEnd]: Buffer[] }
}

const unreadBytesMax = 1024 * 1024

export class MemoryStore implements CallStore {
  readonly name: string = 'memory'
  /** Whose queue it is. */
  owner: OwnLife | undefined = { queue: 1, nonce: 'first', timeline: 1 }
  readonly timeline: number
  isConnected: boolean = true
  /** Made by an earlier version. */
  isOld: boolean = false
  readonly calls: Call[] = []
  readonly connections: Set<MemoryCalls> = new Set()
  /** Most bytes that waited to be received. */
  unreadBytesMost: number = 0

  constructor(timeline = 1) {
    this.timeline = timeline
  }

  async connectCalls(): Promise<Answer<CallConnection>> {
    if (this.isOld)
      return refused({ kind: 'failed', error: new WaybillError('NOT_A_QUEUE', 'no tables for calls') })
    const session: Partial<Session> = {
      timeline: this.timeline,
      queueNamed: async (name) =>
        done(name === 'mx1' ? { queue: 1, name, home: 'mx1', quotaBytes: 1 } : undefined),
      standing: async () =>
        done({
          epoch: 1,
          nonce: this.owner?.nonce,
          node: 'mx1',
          address: undefined,
          beat: 1,
          isConnected: this.isConnected && this.owner !== undefined,
        }),
    }
    const calls = new MemoryCalls(this)
    this.connections.add(calls)
    return done({ calls, session: session as Session })
  }

  /** As a failover does: every connection breaks, and unlogged tables are empty. */
  failOver(): void {
    this.calls.length = 0
    for (const connection of this.connections) connection.close()
  }

  notify(): void {
    for (const connection of this.connections) connection.notify()
  }
}

class MemoryCalls implements Calls {
  isClosed = false
  readonly #store: MemoryStore
  readonly #listeners = new Set<() => void>()

  constructor(store: MemoryStore) {
    this.#store = store
  }

  place(): Promise<Answer<string>> {
    const name = `call${this.#store.calls.length}`
    return this.#answer(() => {
      this.#store.calls.push({
        name,
        caller: this,
        taker: undefined,
        isOver: false,
        pieces: { caller: [], taker: [] },
      })
      return name
    })
  }

  isTaken(call: string): Promise<Answer<boolean>> {
    return this.#answer(() => this.#call(call)?.taker !== undefined)
  }

  withdraw(call: string): Promise<Answer<boolean>> {
    return this.#answer(() => {
      const at = this.#store.calls.findIndex(({ name, taker }) => name === call && taker === undefined)
      if (at >= 0) this.#store.calls.splice(at, 1)
      return at >= 0
    })
  }

  take(_queue: number, nonce: string): Promise<Answer<readonly string[]>> {
    return this.#answer(() => {
      if (this.#store.owner?.nonce !== nonce) return []
      const waiting = this.#store.calls.filter(({ taker, isOver }) => taker === undefined && !isOver)
      for (const call of waiting) call.taker = this
      return waiting.map(({ name }) => name)
    })
  }

  send(
    name: string,
    from: CallEnd,
    _number: number,
    piece: Buffer,
  ): Promise<Answer<'sent' | 'full' | 'over'>> {
    return this.#answer(() => {
      const call = this.#call(name)
      if (call === undefined || call.isOver) return 'over'
      const unreadBytes = call.pieces[from].reduce((sum, { length }) => sum + length, 0)
      if (unreadBytes >= unreadBytesMax) return 'full'
      call.pieces[from].push(Buffer.from(piece))
      this.#store.unreadBytesMost = Math.max(this.#store.unreadBytesMost, unreadBytes + piece.length)
      return 'sent'
    })
  }

  receive(name: string, end: CallEnd): Promise<Answer<Received>> {
    return this.#answer(() => {
      const call = this.#call(name)
      const other = end === 'caller' ? 'taker' : 'caller'
      return {
        pieces: call?.pieces[other].splice(0) ?? [],
        isOver: call === undefined || call.isOver || call[other]?.isClosed === true,
      }
    })
  }

  hangUp(name: string): Promise<Answer<void>> {
    return this.#answer(() => {
      const call = this.#call(name)
      if (call !== undefined) call.isOver = true
    })
  }

  onNotice(tell: () => void): () => void {
    this.#listeners.add(tell)
    return () => void this.#listeners.delete(tell)
  }

  notify(): void {
    for (const tell of this.#listeners) tell()
  }

  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.#store.connections.delete(this)
    this.notify()
    this.#store.notify()
  }

  #call(call: string): Call | undefined {
    return this.#store.calls.find(({ name }) => name === call)
  }

  async #answer<T>(happen: () => T): Promise<Answer<T>> {
    await new Promise(setImmediate)
    if (this.isClosed) return unknown(new WaybillError('STORE_UNREACHABLE', 'closed'))
    const value = happen()
    this.#store.notify()
    return done(value)
  }
}
