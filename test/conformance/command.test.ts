import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { conformance } from '../../tools/conformance.js'

const recorded = fileURLToPath(new URL('nqmgr/a02_slotcost2_discount50.json.gz', import.meta.url))
const text = gunzipSync(readFileSync(recorded)).toString()

let directory = ''
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'waybill-conformance-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

const run = (): { lines: string[]; status: number } => {
  const lines: string[] = []
  return { status: conformance(directory, (line) => lines.push(line)), lines }
}

test('a directory of good traces passes', () => {
  writeFileSync(join(directory, 'a.json'), text)
  copyFileSync(recorded, join(directory, 'b.json.gz'))
  writeFileSync(join(directory, 'README.md'), 'not a trace')
  expect(run()).toEqual({ status: 0, lines: ['2 passed, 0 failed'] })
})

test('the first difference of a failing trace is printed, and the others are still replayed', () => {
  writeFileSync(join(directory, 'a.json'), text.replace('"m":"m2"', '"m":"m3"'))
  writeFileSync(join(directory, 'b.json'), text)
  const { status, lines } = run()
  expect(status).toBe(1)
  expect(lines[0]).toMatch(/^a\.json: event \d+: the event's m\n {2}recorded .*"m3".*\n {2}ours .*"m2"/)
  expect(lines.slice(1)).toEqual(['1 passed, 1 failed'])
})

test('a file that is no trace fails and does not stop the others', () => {
  writeFileSync(join(directory, 'a.json'), '{')
  writeFileSync(join(directory, 'b.json'), text)
  const { status, lines } = run()
  expect(status).toBe(1)
  expect(lines.at(-1)).toBe('1 passed, 1 failed')
})

test('a directory without traces does not pass', () => {
  expect(run()).toEqual({ status: 1, lines: ['0 passed, 0 failed'] })
})
