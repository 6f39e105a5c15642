/** Chooses the server that takes changes.
 * Invariant: of several that say they are none's standby it is the one of the latest timeline,
 * and none of an earlier one than was seen before: an old primary that wakes up says so as
 * well. Pure. */

/** @param seen the latest timeline that was seen so far
 * @returns undefined: none may be used */
export function choosePrimary<T extends { readonly timeline: number }>(
  candidates: readonly T[],
  seen: number,
): T | undefined {
  const [best] = [...candidates].sort((a, b) => b.timeline - a.timeline)
  return best === undefined || best.timeline < seen ? undefined : best
}
