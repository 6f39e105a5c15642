/** A guarantee that can be taken away from a copy of the built engine, as edits of its text. Each edit must match exactly once: a change
 * of the source that disarms one is noticed. */

export interface Edit {
  /** Below dist/src. */
  readonly file: string
  readonly find: string
  readonly replace: string
}

export interface Mutation {
  readonly name: string
  /** The rule that is taken away. */
  readonly rule: string
  readonly edits: readonly Edit[]
}

/** With a single edit. */
export const one = (name: string, rule: string, file: string, find: string, replace: string): Mutation => ({
  name,
  rule,
  edits: [{ file, find, replace }],
})
