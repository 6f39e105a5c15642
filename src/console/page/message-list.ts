/** The messages that match a filter, in pages; only pages near the visible rows are kept.
 * Invariant: memory and the document stay small however many messages there are: a page that is far
 * away is known by its cursor and its count alone, and is asked for again when the reader comes
 * back to it.
 * Why cursors: an offset would have the relay go through all messages before it. */
import type { Message, MessagePage } from '../facts/api.js'
import { addressOf, queryOf, spanMsOf, type Filter } from '../facts/place.js'
import type { App } from './app.js'
import { errorText, isAbort } from '../parts/client.js'

interface Chunk {
  /** Where it begins; undefined: at the beginning. */
  readonly after: string | null | undefined
  count: number
  messages: readonly Message[] | undefined
}

export interface Row {
  readonly index: number
  /** undefined: asked for. */
  readonly message: Message | undefined
}

export const pageMax = 100
/** Chunks on either side of those in view that are kept. */
const keptMax = 15
/** Rows above the first one in the document: a browser draws no element of more than some 30
 * million pixels. */
export const rowsAboveMax = 100_000

export class MessageList {
  readonly #app: App
  #key: string | undefined
  #chunks: Chunk[] = []
  #next: string | null | undefined
  #run = new AbortController()
  #isLoading = false
  readonly #reloading = new Set<Chunk>()
  filter: Filter = {}
  lookedAt = 0
  error: string | undefined
  /** The first row that the document has room for. */
  baseRow = 0

  constructor(app: App) {
    this.#app = app
  }

  /** Begins anew where the filter is another one. */
  show(filter: Filter): void {
    const key = addressOf({ view: 'messages', filter })
    if (key !== this.#key) this.renew(filter)
  }

  renew(filter: Filter = this.filter): void {
    this.#run.abort()
    this.#run = new AbortController()
    this.#key = addressOf({ view: 'messages', filter })
    this.filter = filter
    this.#chunks = []
    this.#next = undefined
    this.#isLoading = false
    this.#reloading.clear()
    this.lookedAt = 0
    this.baseRow = 0
    this.error = undefined
    void this.more()
  }

  get rowCount(): number {
    return this.#chunks.reduce((sum, { count }) => sum + count, 0)
  }

  get isComplete(): boolean {
    return this.#next === null
  }

  get isLoading(): boolean {
    return this.#isLoading
  }

  /** Asks for the next page, where there is one. */
  async more(): Promise<void> {
    if (this.#isLoading || this.#next === null || this.error !== undefined) return
    const run = this.#run
    this.#isLoading = true
    this.#app.changed()
    try {
      const after = this.#next
      const { messages, next, lookedAt } = await this.#page(after, run.signal)
      if (run.signal.aborted) return
      this.lookedAt += lookedAt
      this.#next = next
      // A page without a match leads on and is no place to come back to.
      if (messages.length > 0) this.#chunks.push({ after, count: messages.length, messages })
    } catch (error) {
      if (run.signal.aborted || isAbort(error)) return
      this.error = errorText(error)
    } finally {
      if (run === this.#run) this.#isLoading = false
      this.#app.changed()
    }
  }

  retry(): void {
    this.error = undefined
    void this.more()
  }

  /** Rows from `first` to before `end`; those that are not kept are asked for, and those
   * far away are dropped. */
  rows(first: number, end: number): Row[] {
    const rows: Row[] = []
    let start = 0
    let firstChunk = -1
    let lastChunk = -1
    for (const [i, chunk] of this.#chunks.entries()) {
      if (start + chunk.count > first && start < end) {
        if (firstChunk < 0) firstChunk = i
        lastChunk = i
        if (chunk.messages === undefined) void this.#reload(chunk)
        for (let row = Math.max(first, start); row < Math.min(end, start + chunk.count); row++)
          rows.push({ index: row, message: chunk.messages?.[row - start] })
      }
      start += chunk.count
    }
    for (const [i, chunk] of this.#chunks.entries())
      if (i < firstChunk - keptMax || i > lastChunk + keptMax) chunk.messages = undefined
    return rows
  }

  async #reload(chunk: Chunk): Promise<void> {
    if (this.#reloading.has(chunk)) return
    this.#reloading.add(chunk)
    try {
      const { messages } = await this.#page(chunk.after, this.#run.signal)
      // Some may have moved on meanwhile; the place of all behind them stays.
      chunk.messages = messages.slice(0, chunk.count)
      this.#app.changed()
    } catch (error) {
      if (!isAbort(error)) this.error = errorText(error)
    } finally {
      this.#reloading.delete(chunk)
    }
  }

  #page(after: string | null | undefined, signal: AbortSignal): Promise<MessagePage> {
    const query = queryOf(this.filter)
    const { olderThan } = this.filter
    if (olderThan !== undefined) query.set('olderThan', String(spanMsOf(olderThan) ?? olderThan))
    query.set('limit', String(pageMax))
    if (typeof after === 'string') query.set('after', after)
    return this.#app.client.get(`/v1/messages?${query.toString()}`, signal)
  }
}
