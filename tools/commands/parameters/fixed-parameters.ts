/** The parameters that a reload does not apply: lanes and the memory of messages are made of them.
 * Pure. */

/** @see src/scheduler/reconfigure.ts */
const fixed =
  /^(?:qmgr_.*|(?:minimal|maximal)_backoff_time|(?:maximal|bounce)_queue_lifetime|delay_warning_time|.*_(?:extra_recipient_limit|delivery_slot_cost)|(?!.*_destination_recipient_limit$).*_recipient_limit)$/

const nameOf = (text: string): string => text.slice(0, text.indexOf('='))

const isFixed = (text: string): boolean => fixed.test(nameOf(text))

/** Of the fixed ones those of the start, of the others those of now. */
export const parametersNow = (atStart: readonly string[], now: readonly string[]): readonly string[] => [
  ...atStart.filter(isFixed),
  ...now.filter((text) => !isFixed(text)),
]

/** Names of the fixed ones that are no longer what they were. */
export function changedFixed(atStart: readonly string[], now: readonly string[]): readonly string[] {
  const valuesOf = (texts: readonly string[]): ReadonlyMap<string, string> =>
    new Map(texts.filter(isFixed).map((text) => [nameOf(text), text]))
  const [before, after] = [valuesOf(atStart), valuesOf(now)]
  const names = new Set([...before.keys(), ...after.keys()])
  return [...names].filter((name) => before.get(name) !== after.get(name))
}
