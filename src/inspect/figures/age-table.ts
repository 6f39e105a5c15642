/** Ages by domain, as Postfix's qshape counts them. Pure.
 * The first bucket ends at `firstMs`, each later one at twice the time (or, linear, one step
 * later); the last has no end.
 * Invariant: memory is bounded: domains beyond `domainCountMax` are counted together. */

export const domainCountMax = 200_000

/** Subdomains that a shown parent has at least. @see Postfix qshape(1), -m */
export const subdomainCountDefault = 5

export interface AgeRow {
  readonly domain: string
  readonly total: number
  readonly buckets: readonly number[]
}

export class AgeTable {
  readonly #bucketCount: number
  readonly #firstMs: number
  readonly #linear: boolean
  /** Total and buckets of each domain. */
  readonly #rows = new Map<string, Uint32Array>()
  readonly #all: Uint32Array
  #othersRow: Uint32Array | undefined

  /** @param bucketCount at least 2, @param firstMs greater than 0 */
  constructor(bucketCount: number, firstMs: number, linear: boolean) {
    this.#bucketCount = bucketCount
    this.#firstMs = firstMs
    this.#linear = linear
    this.#all = new Uint32Array(bucketCount + 1)
  }

  add(domain: string, ageMs: number): void {
    const bucket = this.#bucketOf(ageMs)
    const row = this.#row(domain)
    row[0]!++
    row[bucket + 1]!++
    this.#all[0]!++
    this.#all[bucket + 1]!++
  }

  /** `5`, `10`, …, `1280`, `1280+`: where each bucket ends, in minutes. */
  get heads(): string[] {
    const ends: number[] = []
    for (let i = 0; i < this.#bucketCount - 1; i++)
      ends.push((this.#firstMs * (this.#linear ? i + 1 : 2 ** i)) / 60_000)
    // Short ages have three digits, so that buckets differ.
    const texts = ends.map((minutes) =>
      String(minutes < 1 ? Number(minutes.toPrecision(3)) : Math.round(minutes * 100) / 100),
    )
    return [...texts, `${texts.at(-1)}+`]
  }

  get total(): AgeRow {
    return rowOf('TOTAL', this.#all)
  }

  /** The largest first; of one size the shorter name first. */
  get domains(): AgeRow[] {
    const rows = Array.from(this.#rows, ([domain, counts]) => rowOf(domain, counts))
    if (this.#othersRow !== undefined) rows.push(rowOf('(others)', this.#othersRow))
    return rows.sort(byTotal)
  }

  /** The same, with a row `.example.com` for each parent of at least so many domains: what is
   * below it. Parents of one label, such as `.com`, have none. @see Postfix qshape(1), -p */
  domainsWithParents(subdomainCountMin: number): AgeRow[] {
    const parents = new Map<string, { count: number; readonly counts: Uint32Array }>()
    for (const [domain, counts] of this.#rows)
      for (let at = domain.indexOf('.'); domain.indexOf('.', at + 1) > 0; at = domain.indexOf('.', at + 1)) {
        const name = domain.slice(at)
        const parent = parents.get(name) ?? { count: 0, counts: new Uint32Array(counts.length) }
        parent.count++
        for (const [i, count] of counts.entries()) parent.counts[i]! += count
        parents.set(name, parent)
      }
    const shown = [...parents].filter(([, { count }]) => count >= subdomainCountMin)
    return [...this.domains, ...shown.map(([name, { counts }]) => rowOf(name, counts))].sort(byTotal)
  }

  #bucketOf(ageMs: number): number {
    const share = ageMs / this.#firstMs
    if (share < 1) return 0
    const bucket = this.#linear ? Math.floor(share) : 1 + Math.floor(Math.log2(share))
    return Math.min(bucket, this.#bucketCount - 1)
  }

  #row(domain: string): Uint32Array {
    const known = this.#rows.get(domain)
    if (known !== undefined) return known
    const row = new Uint32Array(this.#bucketCount + 1)
    if (this.#rows.size < domainCountMax) this.#rows.set(domain, row)
    else return (this.#othersRow ??= row)
    return row
  }
}

const byTotal = (a: AgeRow, b: AgeRow): number =>
  b.total - a.total || a.domain.length - b.domain.length || (a.domain < b.domain ? -1 : 1)

const rowOf = (domain: string, counts: Uint32Array): AgeRow => ({
  domain,
  total: counts[0]!,
  buckets: Array.from(counts.subarray(1)),
})
