/** Sets of small integers as flat inclusive ranges [first, last, first, last, …], ascending
 * and apart. Recipients of one destination are mostly neighbours, so a thousand outcomes
 * are a few bytes. */

export type Ranges = readonly number[]

/** @param indexes in any order, without repeats; it is sorted in place when it is not */
export function toRanges(indexes: number[]): number[] {
  if (indexes.length === 1) return [indexes[0]!, indexes[0]!]
  for (let i = 1; i < indexes.length; i++) {
    if (indexes[i]! < indexes[i - 1]!) {
      indexes.sort((a, b) => a - b)
      break
    }
  }
  const ranges: number[] = []
  for (const index of indexes) {
    if (ranges.length > 0 && ranges[ranges.length - 1] === index - 1) ranges[ranges.length - 1] = index
    else ranges.push(index, index)
  }
  return ranges
}

export function forEachIn(ranges: Ranges, visit: (index: number) => void): void {
  for (let i = 0; i < ranges.length; i += 2) {
    for (let index = ranges[i]!; index <= ranges[i + 1]!; index++) visit(index)
  }
}

export function countIn(ranges: Ranges): number {
  let count = 0
  for (let i = 0; i < ranges.length; i += 2) count += ranges[i + 1]! - ranges[i]! + 1
  return count
}

export function isIn(ranges: Ranges, index: number): boolean {
  for (let i = 0; i < ranges.length; i += 2) if (ranges[i]! <= index && index <= ranges[i + 1]!) return true
  return false
}
