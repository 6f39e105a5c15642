/** A mutation: edits that remove one guarantee from a copy of the built engine.
 * Invariant: each edit matches exactly once, so a change of the source that disarms one is
 * noticed. */

export interface Edit {
  /** Below dist/src. */
  readonly file: string
  readonly find: string
  readonly replace: string
}

export interface Mutation {
  readonly name: string
  /** The removed rule. */
  readonly rule: string
  readonly edits: readonly Edit[]
}

/** With a single edit. */
export const one = (name: string, rule: string, file: string, find: string, replace: string): Mutation => ({
  name,
  rule,
  edits: [{ file, find, replace }],
})
