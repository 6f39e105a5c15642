/** One message: its facts, header, structure, bodies and history, as they are asked for.
 * Invariant: an answer about another message than the one in view is dropped. */
import type { Conversation, HistoryEntry, HistoryRecord, Message, Part, Structure } from '../facts/api.js'
import type { App } from './app.js'
import { ApiError, errorText } from '../parts/client.js'

/** What is asked for: it is on its way, there, or cannot be had. */
export type Asked<T> =
  | { readonly kind: 'asked' }
  | { readonly kind: 'there'; readonly value: T }
  | { readonly kind: 'refused'; readonly text: string; readonly code: string }

export type Body =
  | { readonly kind: 'text'; readonly part: string; readonly text: string; readonly isCut: boolean }
  | { readonly kind: 'html'; readonly part: string; readonly href: string }

export class OneMessage {
  readonly #app: App
  id = ''
  message: Asked<Message> = { kind: 'asked' }
  structure: Asked<Structure> = { kind: 'asked' }
  history: Asked<readonly HistoryRecord[]> = { kind: 'asked' }
  /** Of mail that may have left the log, where the relay keeps a history. */
  entries: readonly HistoryEntry[] = []
  keepsHistory = true
  /** With servers, oldest first. */
  conversations: Asked<readonly Conversation[]> = { kind: 'asked' }
  body: Asked<Body> | undefined
  hasWholeHeader = false

  constructor(app: App) {
    this.#app = app
  }

  show(id: string): void {
    this.id = id
    this.message = { kind: 'asked' }
    this.structure = { kind: 'asked' }
    this.history = { kind: 'asked' }
    this.entries = []
    this.conversations = { kind: 'asked' }
    this.body = undefined
    this.hasWholeHeader = false
    this.renew()
    const path = this.#path
    if (this.#app.may('content'))
      void this.#ask<Structure>(`${path}/structure`, (structure) => {
        this.structure = structure
        const readable = structure.kind === 'there' ? firstReadable(structure.value.tree) : undefined
        if (readable !== undefined) void this.open(readable)
      })
    else
      this.structure = { kind: 'refused', code: 'SCOPE_MISSING', text: 'This token lacks the scope content.' }
  }

  /** Where it is and what happened to it, as of now. */
  renew(): void {
    void this.#ask<Message>(this.#path, (message) => (this.message = message))
    void this.#ask<{ records: HistoryRecord[] }>(`${this.#path}/history`, (history) => {
      this.history = history.kind === 'there' ? { kind: 'there', value: history.value.records } : history
    })
    void this.#ask<{ conversations: Conversation[] }>(`${this.#path}/conversations`, (found) => {
      this.conversations =
        found.kind === 'there' ? { kind: 'there', value: found.value.conversations } : found
    })
    const path = `/v1/history?limit=1000&id=${encodeURIComponent(this.id)}`
    void this.#ask<{ entries: HistoryEntry[]; isKept: boolean }>(path, (found) => {
      this.entries = found.kind === 'there' ? found.value.entries : []
      this.keepsHistory = found.kind !== 'there' || found.value.isKept
    })
  }

  /** A part, as text or, where it is HTML, in a frame that can do nothing. */
  async open({ part, type }: Part, asSource: boolean = false): Promise<void> {
    const { id } = this
    this.body = { kind: 'asked' }
    this.#app.changed()
    const path = `${this.#path}/parts/${encodeURIComponent(part)}`
    const body = await this.#try(async (): Promise<Body> => {
      if (type === 'text/html' && !asSource) {
        const { href } = await this.#app.client.post<{ href: string }>(`${path}/view`)
        return { kind: 'html', part, href }
      }
      const { text, isCut } = await this.#app.client.text(path)
      return { kind: 'text', part, text, isCut }
    })
    if (id !== this.id) return
    this.body = body
    this.#app.changed()
  }

  async download({ part, filename }: Part): Promise<void> {
    const path = `${this.#path}/parts/${encodeURIComponent(part)}?download`
    await this.#save(path, filename ?? `${this.id}-${part}`)
  }

  async downloadWhole(): Promise<void> {
    await this.#save(`${this.#path}/data`, `${this.id}.eml`)
  }

  async #save(path: string, name: string): Promise<void> {
    const link = document.createElement('a')
    // A name of a message's may hide its ending, or be a path.
    link.download = name.replace(/[^\w.-]/g, '_').slice(-100)
    link.href = URL.createObjectURL(await this.#app.client.blob(path))
    link.click()
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
  }

  get #path(): string {
    return `/v1/messages/${encodeURIComponent(this.id)}`
  }

  async #ask<T>(path: string, take: (asked: Asked<T>) => void): Promise<void> {
    const { id } = this
    const asked = await this.#try(() => this.#app.client.get<T>(path))
    if (id !== this.id) return
    take(asked)
    this.#app.changed()
  }

  async #try<T>(get: () => Promise<T>): Promise<Asked<T>> {
    try {
      return { kind: 'there', value: await get() }
    } catch (error) {
      const code = error instanceof ApiError ? error.problem.code : 'DEFECT'
      return { kind: 'refused', code, text: errorText(error) }
    }
  }
}

/** The text that a reader sees first. */
function firstReadable(tree: Part): Part | undefined {
  const all = flat(tree).map(({ part }) => part)
  const isBody = ({ disposition }: Part): boolean => disposition !== 'attachment'
  return (
    all.find((part) => part.type === 'text/plain' && isBody(part)) ??
    all.find((part) => part.type === 'text/html' && isBody(part)) ??
    all.find(({ type }) => type.startsWith('text/'))
  )
}

/** Parts in order, with how deep each stands. */
export const flat = (part: Part, depth: number = 0): { part: Part; depth: number }[] => [
  { part, depth },
  ...(part.parts ?? []).flatMap((below) => flat(below, depth + 1)),
]
