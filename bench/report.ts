/** Draws the README's plots from what is kept in bench/results/: `npm run bench -- report`. Measures nothing. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BenchArguments } from './bench.js'
import { figures } from './figures.js'
import { packageRoot } from './machine.js'
import type { Row } from './output.js'

export async function run({ output }: Pick<BenchArguments, 'output'>): Promise<void> {
  const results = join(packageRoot(), 'bench', 'results')
  const plots = join(results, 'plots')
  mkdirSync(plots, { recursive: true })
  for (const { name, bench, draw } of figures) {
    const from = join(results, `${bench}.json`)
    if (!existsSync(from)) {
      output.note(`no results of '${bench}' are kept: npm run bench -- ${bench} --save`)
      continue
    }
    writeFileSync(join(plots, `${name}.svg`), draw(JSON.parse(readFileSync(from, 'utf8')) as Row[]))
    output.note(`bench/results/plots/${name}.svg`)
  }
}
