/** The protocol with all its rules or without one, and what its search has asked already. */
import { cursors, type Cursors } from './cursor.js'
import type { Rule } from './rules.js'

export interface Variant {
  readonly without: Rule | undefined
  readonly cursorOf: Cursors
  /** Disks that were recovered: what comes of them is known. */
  readonly knownDisks: Set<string>
}

/** @param without the rule that is taken away */
export const variantOf = (without: Rule | undefined): Variant => ({
  without,
  cursorOf: cursors(),
  knownDisks: new Set(),
})
