/** The fixture queue as bytes in the repository, of format 1: golden outputs must not change with
 * how the engine numbers or batches, and a later program must still read what this one wrote. It is
 * never made anew. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import type { Fixture } from './fixture-queue.js'

const path = fileURLToPath(new URL('queue-of-format-1.json.gz', import.meta.url))

interface Frozen {
  readonly nowMs: number
  readonly directories: readonly string[]
  readonly files: Readonly<Record<string, string>>
}

export function frozenQueue(): Fixture {
  const { nowMs, directories, files } = JSON.parse(gunzipSync(readFileSync(path)).toString()) as Frozen
  const entries = Object.entries(files).map(([name, text]): [string, Buffer] => [
    name,
    Buffer.from(text, 'base64'),
  ])
  return { nowMs, directories, files: new Map(entries) }
}
