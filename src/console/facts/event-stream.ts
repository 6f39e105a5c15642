/** Reads server-sent events from the text of a response. Pure.
 * Invariant: an event is complete: one that the end of the connection cuts is not given.
 * Why not EventSource: it sends no `Authorization`, and tells nothing of why it was refused.
 * @see
 * https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation */

export interface StreamEvent {
  /** `message` where it has none. */
  readonly name: string
  readonly data: string
}

/** Of what is read ahead of an end of line; a longer one is no stream of ours. */
export const pendingCharsMax: number = 8 * 1024 * 1024

export class EventStream {
  #pending = ''
  #name = ''
  #data: string[] = []

  /** @returns the events that end in this piece @throws RangeError beyond `pendingCharsMax` */
  push(piece: string): StreamEvent[] {
    const lines = (this.#pending + piece).split(/\r\n|\n|\r(?!$)/)
    this.#pending = lines.pop()!
    if (this.#pending.length > pendingCharsMax) throw new RangeError('a line of the stream has no end')
    return lines.flatMap((line) => this.#line(line))
  }

  #line(line: string): StreamEvent[] {
    if (line === '') return this.#end()
    const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/.exec(line) ?? []
    if (field === 'event') this.#name = value
    if (field === 'data') this.#data.push(value)
    return []
  }

  #end(): StreamEvent[] {
    const event = { name: this.#name === '' ? 'message' : this.#name, data: this.#data.join('\n') }
    const isThere = this.#data.length > 0
    this.#name = ''
    this.#data = []
    return isThere ? [event] : []
  }
}
