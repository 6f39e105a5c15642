/** Copies of the scheduler's source, each with at most one change, that can be loaded
 * beside the original. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { assert } from '../../src/base/assert.js'
import type { Damage } from './damages.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const parts = [
  'src/base',
  'src/policy/concurrency-limits.ts',
  'src/scheduler',
  'src/errors.ts',
  'tools/conformance-replay.ts',
  'tools/conformance-sections.ts',
  'tools/conformance-trace.ts',
  'test/scheduler/world.ts',
]

export class Copies {
  readonly #folder = mkdtempSync(join(tmpdir(), 'waybill-sabotage-'))
  #count = 0

  /** Loads a module from a fresh copy.
   * @throws InvariantError when the text to change is not there exactly once */
  async load<T>(path: string, damage?: Damage): Promise<T> {
    const copy = join(this.#folder, String(this.#count++))
    for (const part of parts) cpSync(join(root, part), join(copy, part), { recursive: true })
    writeFileSync(join(copy, 'package.json'), '{ "type": "module" }')
    if (damage !== undefined) change(join(copy, 'src/scheduler', damage.file), damage)
    return (await import(/* @vite-ignore */ pathToFileURL(join(copy, path)).href)) as T
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

function change(path: string, { file, find, replace }: Damage): void {
  const source = readFileSync(path, 'utf8')
  assert(source.split(find).length === 2, `${file} has the text to change once: ${find}`)
  writeFileSync(
    path,
    source.replace(find, () => replace),
  )
}
