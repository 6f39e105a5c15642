/** How much one delivery moves a destination's concurrency: g(N) after one without trouble of the
 * site, f(N) after one with.
 * Invariant: the amount lies in 0 … 1 for every window N ≥ 1. */

export interface Feedback {
  readonly kind: 'constant' | 'per-window' | 'per-root'
  readonly x: number
}

const number = String.raw`(\d+(?:\.\d*)?|\.\d+)`
const form = new RegExp(`^${number}(?:\\s*/\\s*(?:${number}|(concurrency|sqrt_concurrency)))?$`)

/** Reads `0.5`, `1/8`, `1/concurrency` or `1/sqrt_concurrency`; undefined if it has none of these
 * forms or is above 1. */
export function parseFeedback(text: string): Feedback | undefined {
  const match = form.exec(text.trim())
  if (match === null) return undefined
  const [, above, below, name] = match
  const x = Number(above) / (below === undefined ? 1 : Number(below))
  if (!(x >= 0 && x <= 1)) return undefined
  if (name === undefined) return { kind: 'constant', x }
  return { kind: name === 'concurrency' ? 'per-window' : 'per-root', x }
}

/** The amount at this window. @param window deliveries at once, ≥ 1 */
export function feedbackAt(feedback: Feedback, window: number): number {
  switch (feedback.kind) {
    case 'constant':
      return feedback.x
    case 'per-window':
      return feedback.x / window
    case 'per-root':
      return feedback.x / Math.sqrt(window)
  }
}
