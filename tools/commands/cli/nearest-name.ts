/** The name that somebody may have meant. Pure. */

/** @returns undefined when none is near: a letter more, less, other or exchanged, and one more of
 * these in a long one, or capitals */
export function nearestName(word: string, names: readonly string[]): string | undefined {
  const distanceMax = word.length < 4 ? 0 : word.length < 7 ? 1 : 2
  const [nearest] = names
    .map((name) => ({ name, distance: distanceOf(word.toLowerCase(), name) }))
    .filter(({ distance }) => distance <= distanceMax)
    .sort((a, b) => a.distance - b.distance)
  return nearest?.name
}

/** By optimal string alignment. */
function distanceOf(a: string, b: string): number {
  let before: number[] = []
  let above = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1]
      let least = Math.min(above[j]! + 1, row[j - 1]! + 1, above[j - 1]! + (isSame ? 0 : 1))
      const isExchanged = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (isExchanged) least = Math.min(least, before[j - 2]! + 1)
      row.push(least)
    }
    before = above
    above = row
  }
  return above[b.length]!
}
