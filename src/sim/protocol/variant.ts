/** The protocol with all its rules or without one, and the cache of its search. */
import { cursors, type Cursors } from './cursor.js'
import type { Rule } from './rules.js'

export interface Variant {
  readonly without: Rule | undefined
  readonly cursorOf: Cursors
  /** Recovered disks and their results. */
  readonly knownDisks: Set<string>
}

/** @param without the removed rule */
export const variantOf = (without: Rule | undefined): Variant => ({
  without,
  cursorOf: cursors(),
  knownDisks: new Set(),
})
