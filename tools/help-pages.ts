/** Writes the pages to which problems lead as HTML, a part of the build: `serve` only reads. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { helpFiles, helpFileOf } from './commands/serve/console-pages.js'
import { helpHtml } from './help-page.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

for (const path of helpFiles) {
  const file = helpFileOf(`${root}dist/src/console`, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, helpHtml(path, readFileSync(`${root}${path}`, 'utf8'), helpFiles))
}
