/** A conversation with a server, as commands with their replies. Pure.
 * Invariant: every line of the conversation is in one exchange, in the order of the commands,
 * whether they were pipelined or not. */
import type { Conversation } from './api.js'

export interface Exchange {
  /** undefined: a greeting, or the command is among the lines that were left out. */
  readonly command: string | undefined
  readonly replies: readonly string[]
  /** A reply says 4xx or 5xx. */
  readonly isRefused: boolean
}

/** Exchanges before those between are folded. */
const shownMax = 20

export function exchangesOf(lines: Conversation['lines']): Exchange[] {
  const all: { command: string | undefined; replies: string[] }[] = []
  const byNumber = new Map<number, (typeof all)[number]>()
  for (const { by, text, command: number } of lines) {
    let exchange = number === undefined ? undefined : byNumber.get(number)
    if (exchange === undefined) {
      exchange = { command: undefined, replies: [] }
      all.push(exchange)
      if (number !== undefined) byNumber.set(number, exchange)
    }
    if (by === 'client') exchange.command = text
    else exchange.replies.push(text)
  }
  return all.map((one) => ({ ...one, isRefused: one.replies.some(isRefusal) }))
}

export const isRefusal = (reply: string): boolean => /^[45]/.test(reply)

/** The first ones, those that are folded, and the last ones. */
export function folded(exchanges: readonly Exchange[]): readonly [Exchange[], Exchange[], Exchange[]] {
  if (exchanges.length <= shownMax) return [[...exchanges], [], []]
  const end = exchanges.length - shownMax / 2
  return [exchanges.slice(0, shownMax / 2), exchanges.slice(shownMax / 2, end), exchanges.slice(end)]
}
