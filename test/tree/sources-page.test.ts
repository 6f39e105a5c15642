/** src/SOURCES.md: each row names a test that is there, or says why there is none. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './sources.js'

const page = readFileSync(join(root, 'src/SOURCES.md'), 'utf8')
/** Cells of the rows below a head, without the head and the rule. */
const rows = page
  .split('\n')
  .filter((line) => line.startsWith('|') && !/^\|[\s|:-]*\|$/.test(line))
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .filter((cells) => !(cells[1] ?? '').startsWith('place'))

test('every test that the page names is there', () => {
  const named = [...page.matchAll(/`(test\/[^`]+)`/g)].map(([, path]) => path!)
  expect(named.length).toBeGreaterThan(40)
  expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([])
})

test('every row has a test, or says that it is left out or not here yet', () => {
  const silent = rows.filter(
    (cells) => (cells.at(-2) ?? '') === '' && !cells.some((cell) => /^left out|^not here yet/.test(cell)),
  )
  expect(rows.length).toBeGreaterThan(80)
  expect(silent.map((cells) => cells[1])).toEqual([])
})
