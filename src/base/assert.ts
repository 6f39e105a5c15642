/** Assertions: a broken invariant is a bug of ours, and the process must not act on it. They stay
 * on in production; the crash that follows is like a power loss, and recovery handles it. */

export class InvariantError extends Error {
  override readonly name = 'InvariantError'
  readonly code = 'INVARIANT'
}

/** @throws InvariantError when `condition` is false. */
export function assert(condition: boolean, invariant: string): asserts condition {
  if (!condition) throw new InvariantError(invariant)
}

/** The end of an exhaustive switch.
 * @throws InvariantError always: a tag that the compiler does not know has reached us. */
export function unreachable(tag: never): never {
  throw new InvariantError(`unknown case ${JSON.stringify(tag)}`)
}
