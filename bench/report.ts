/** Draws the README's plots from what is kept in bench/results/, and writes its figures: `npm run bench -- report`. Measures nothing. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BenchArguments } from './bench.js'
import { figures } from './figures.js'
import { packageRoot } from './machine.js'
import type { Row } from './output.js'
import { readmeWith, type Kept } from './readme-figures.js'

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
  const readme = join(packageRoot(), 'README.md')
  writeFileSync(readme, readmeWith(readFileSync(readme, 'utf8'), kept))
  output.note('README.md')
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
