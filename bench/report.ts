/** Draws the plots from bench/results/ and writes the figures of the pages:
 * `npm run bench -- report`. Measures nothing. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BenchArguments } from './bench.js'
import { figures } from './figures.js'
import { packageRoot } from './machine.js'
import type { Row } from './output.js'
import { pages, pageWith, type Kept } from './readme-figures.js'

export async function run({ output }: Pick<BenchArguments, 'output'>): Promise<void> {
  const results = join(packageRoot(), 'bench', 'results')
  const kept = keptIn(results)
  const plots = join(results, 'plots')
  mkdirSync(plots, { recursive: true })
  for (const { name, bench, draw } of figures) {
    const rows = kept.get(bench)
    if (rows === undefined) {
      output.note(`no results of '${bench}' are kept: npm run bench -- ${bench} --save`)
      continue
    }
    writeFileSync(join(plots, `${name}.svg`), draw(rows))
    output.note(`bench/results/plots/${name}.svg`)
  }
  for (const [name, textOf] of Object.entries(pages)) {
    const path = join(packageRoot(), name)
    writeFileSync(path, pageWith(readFileSync(path, 'utf8'), textOf(kept)))
    output.note(name)
  }
}

export function keptIn(results: string): Kept {
  const names = readdirSync(results).filter((name) => name.endsWith('.json'))
  return new Map(
    names.map((name) => [
      name.replace(/\.json$/, ''),
      JSON.parse(readFileSync(join(results, name), 'utf8')) as Row[],
    ]),
  )
}
