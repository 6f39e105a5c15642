/** Breadth-first search through all states of a protocol, so that the first broken promise is found
 * by a shortest trace.
 * Invariant: each state is visited once; the search ends when no state is left.
 * Pure: states in, a verdict out. */
import { assert } from '../../base/assert.js'

export interface Step<State> {
  readonly name: string
  readonly next: State
}

export interface Protocol<State> {
  readonly first: State
  /** Equal for states with one future. */
  readonly keyOf: (state: State) => string
  readonly stepsOf: (state: State) => readonly Step<State>[]
  /** The promise that is broken in this state. */
  readonly violationOf: (state: State) => string | undefined
}

export interface Verdict {
  /** Different states that were reached. */
  readonly stateCount: number
  /** Steps that were taken from them, also to states known before. */
  readonly stepCount: number
  readonly found: { readonly violation: string; readonly trace: readonly string[] } | undefined
}

/** A bound above the size of any protocol here. */
const stateCountDefault = 3_000_000

/** @param stateCountMax reaching it is a failure, not an end
 * @throws InvariantError when there are more states */
export function search<State>(
  { first, keyOf, stepsOf, violationOf }: Protocol<State>,
  stateCountMax: number = stateCountDefault,
): Verdict {
  const seen = new Set([keyOf(first)])
  const names = ['']
  const origins = [-1]
  let stepCount = 0
  let edge: { readonly state: State; readonly number: number }[] = [{ state: first, number: 0 }]
  while (edge.length > 0) {
    const behind: typeof edge = []
    for (const { state, number } of edge) {
      const violation = violationOf(state)
      if (violation !== undefined)
        return {
          stateCount: seen.size,
          stepCount,
          found: { violation, trace: traceTo(number, names, origins) },
        }
      for (const { name, next } of stepsOf(state)) {
        stepCount++
        const key = keyOf(next)
        if (seen.has(key)) continue
        seen.add(key)
        behind.push({ state: next, number: names.length })
        names.push(name)
        origins.push(number)
      }
    }
    assert(seen.size <= stateCountMax, 'a protocol has a bounded number of states')
    edge = behind
  }
  return { stateCount: seen.size, stepCount, found: undefined }
}

function traceTo(last: number, names: readonly string[], origins: readonly number[]): readonly string[] {
  const trace: string[] = []
  for (let number = last; number > 0; number = origins[number]!) trace.unshift(names[number]!)
  return trace
}
