/** What was said between an attempt and its server, for who looks into it.
 * Invariant: it is kept in memory alone, within a bound, and has no message data and no secret. */

export interface ConversationLine {
  readonly by: 'client' | 'server'
  /** One command, or a reply of one line or several. */
  readonly text: string
}

/** Of one transaction; the first over a connection has the greeting, too. */
export interface Conversation {
  /** When it ended, milliseconds since 1970. */
  readonly at: number
  readonly server: string
  readonly lines: readonly ConversationLine[]
  /** Lines between the first ones and the last: they were too many. */
  readonly leftOutCount: number
}

const textCharsMax = 1000
/** Of a conversation: the first, and the last. */
const headMax = 60
const tailMax = 20

/** Takes down what is said over one connection. */
export class Transcript {
  #head: ConversationLine[] = []
  #tail: ConversationLine[] = []
  #leftOutCount = 0
  /** What is said is a secret, or leads to one. */
  isSecret = false

  add(by: ConversationLine['by'], said: string): void {
    if (this.isSecret) return
    const text = said.trimEnd().slice(0, textCharsMax)
    if (text === '') return
    if (this.#head.length < headMax) return void this.#head.push({ by, text })
    this.#tail.push({ by, text })
    if (this.#tail.length <= tailMax) return
    this.#tail.shift()
    this.#leftOutCount++
  }

  /** All since the last time. */
  take(): Pick<Conversation, 'lines' | 'leftOutCount'> {
    const taken = { lines: [...this.#head, ...this.#tail], leftOutCount: this.#leftOutCount }
    this.#head = []
    this.#tail = []
    this.#leftOutCount = 0
    return taken
  }
}

/** Characters of all that are kept; of one message so many conversations. */
export const keptCharsMax: number = 4 * 1024 * 1024
export const conversationsMax = 4

const charsOf = ({ server, lines }: Conversation): number =>
  lines.reduce((sum, { text }) => sum + text.length + 32, server.length + 128)

/** The last conversations about messages, those with the latest. */
export class Conversations {
  readonly #known = new Map<string, readonly Conversation[]>()
  #chars = 0

  /** @param id of the message */
  add(id: string, conversation: Conversation): void {
    const before = this.of(id)
    const now = [...before, conversation].slice(-conversationsMax)
    this.#forget(id)
    this.#known.set(id, now)
    this.#chars += now.reduce((sum, one) => sum + charsOf(one), 0)
    for (const oldest of this.#known.keys()) {
      if (this.#chars <= keptCharsMax || oldest === id) break
      this.#forget(oldest)
    }
  }

  /** Oldest first; none when nothing is known. */
  of(id: string): readonly Conversation[] {
    return this.#known.get(id) ?? []
  }

  #forget(id: string): void {
    this.#chars -= this.of(id).reduce((sum, one) => sum + charsOf(one), 0)
    this.#known.delete(id)
  }
}
