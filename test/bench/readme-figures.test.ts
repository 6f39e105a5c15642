/** The figures of the pages are what was measured. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../../bench/machine.js'
import { spreadOf, type Row } from '../../bench/output.js'
import { beginMark, endMark, pages, pageWith, type Kept } from '../../bench/readme-figures.js'
import { keptIn } from '../../bench/report.js'

const machine: Row = {
  title: 'machine',
  startedAt: '2026-11-21T03:04:47.375Z',
  cpu: 'AMD',
  cores: 2,
  loadAverage: 0.07,
  node: 'v20.20.2',
  fileSystem: 'ext4 (rw)',
}

const life = (contender: string, rate: number): Row => ({
  title: '1 KiB, one recipient',
  contender,
  producers: 100,
  'messages/s': spreadOf([rate]),
  'of rawlog': spreadOf([rate / 120_000]),
  'syncs/message': spreadOf([0.0102]),
  'bytes/message': spreadOf([1270]),
  'p99 ms': spreadOf([2.5]),
})

const page = `# Title\n\n${beginMark}\n\nold\n\n${endMark}\n\nrest\n`

const figuresWith = (text: string, results: Kept): string =>
  pageWith(text, pages['bench/FIGURES.md']!(results))

test('the figures stand between the marks, and nothing else changes', () => {
  const rows = [machine, life('rawlog', 120_000), life('engine', 105_000), life('sqlite', 64_000)]
  const text = figuresWith(page, new Map([['lives', rows]]))
  expect(text.startsWith(`# Title\n\n${beginMark}`)).toBe(true)
  expect(text.endsWith(`${endMark}\n\nrest\n`)).toBe(true)
  expect(text).not.toContain('old')
  expect(text).toMatch(/\| 100 +\| 105 000 +\| 0\.875 +\| sqlite, 64 000 \|/)
  expect(text.replaceAll('\n', ' ')).toContain('load average before it: 0.07')
})

test('the best store is the fastest of the stores, neither rawlog nor files nor ourselves', () => {
  const names = ['rawlog', 'engine', 'files', 'leveldb', 'lmdb']
  const rows = names.map((name, i) => life(name, 100_000 - i))
  expect(figuresWith(page, new Map([['lives', [machine, ...rows]]]))).toContain('leveldb, 99 997')
})

test('a bench without results has no section', () => {
  expect(figuresWith(page, new Map([['scale', [machine]]]))).not.toContain('Whole lives')
})

test('a page without the marks is refused', () => {
  expect(() => figuresWith('# Title', new Map())).toThrow('no place')
})

const kept = keptIn(join(packageRoot(), 'bench', 'results'))
const pageText = (name: string): string => readFileSync(join(packageRoot(), name), 'utf8')

test.each(Object.keys(pages))('%s says what the kept results say', (name) => {
  expect(pageWith(pageText(name), pages[name]!(kept))).toBe(pageText(name))
})
