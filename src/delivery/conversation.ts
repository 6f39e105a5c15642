/** The conversation of an attempt with its server, kept for operators.
 * Invariant: it is kept in memory alone, within a bound, and has no message data and no secret. */

export interface ConversationLine {
  readonly by: 'client' | 'server'
  /** One command, or a reply of one line or several. */
  readonly text: string
  /** Of a command its number in the conversation, from 1; of a reply that of the command which it
   * answers. A greeting has none. */
  readonly command?: number
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
  /** Commands so far, and those with a reply: servers answer in the order of the commands. */
  #commandCount = 0
  #answeredCount = 0
  #isSecret = false

  /** What is said is a secret, or leads to one. */
  get isSecret(): boolean {
    return this.#isSecret
  }

  /** The replies to a secret are not taken down: behind it nothing waits for one. */
  set isSecret(isSecret: boolean) {
    this.#isSecret = isSecret
    this.#answeredCount = this.#commandCount
  }

  add(by: ConversationLine['by'], said: string): void {
    if (this.#isSecret) return
    const text = said.trimEnd().slice(0, textCharsMax)
    if (text === '') return
    const command = this.#numberOf(by)
    const line: ConversationLine = command === 0 ? { by, text } : { by, text, command }
    if (this.#head.length < headMax) return void this.#head.push(line)
    this.#tail.push(line)
    if (this.#tail.length <= tailMax) return
    this.#tail.shift()
    this.#leftOutCount++
  }

  /** A reply that no command waits for is one more to the last: to the data behind DATA. */
  #numberOf(by: ConversationLine['by']): number {
    if (by === 'client') return ++this.#commandCount
    this.#answeredCount = Math.min(this.#answeredCount + 1, this.#commandCount)
    return this.#answeredCount
  }

  /** All since the last time. */
  take(): Pick<Conversation, 'lines' | 'leftOutCount'> {
    const taken = { lines: [...this.#head, ...this.#tail], leftOutCount: this.#leftOutCount }
    this.#head = []
    this.#tail = []
    this.#leftOutCount = 0
    this.#commandCount = 0
    this.#answeredCount = 0
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
