/** The fixture queue as bytes in the repository, of format 1: golden outputs must not change with how the engine numbers or
 * batches, and a later program must still read what this one wrote. `WAYBILL_FREEZE=1` with frozen-queue.test.ts makes it anew. */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gunzipSync, gzipSync } from 'node:zlib'
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

export function freeze({ nowMs, directories, files }: Fixture): void {
  const texts = Object.fromEntries(Array.from(files, ([name, bytes]) => [name, bytes.toString('base64')]))
  const frozen: Frozen = { nowMs, directories, files: texts }
  writeFileSync(path, gzipSync(JSON.stringify(frozen), { level: 9 }))
}
