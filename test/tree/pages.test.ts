/** Pages find each other, and their tables name what lies beside them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { rooms } from './floors.js'
import { filesBelow, root } from './sources.js'

const pages = [
  'README.md',
  ...['src', 'test', 'bench', 'tools'].flatMap((folder) => filesBelow(folder, '.md')),
]
const pageText = (path: string): string => readFileSync(join(root, path), 'utf8')

const linked = (page: string): string[] =>
  [
    ...pageText(page)
      .replace(/```[\s\S]*?```/g, '')
      .matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g),
  ].map(([, target]) => join(dirname(page), target!))

test('every page is reached from the README by links', () => {
  const reached = new Set<string>()
  const ahead = ['README.md']
  for (let page = ahead.pop(); page !== undefined; page = ahead.pop()) {
    if (reached.has(page)) continue
    reached.add(page)
    ahead.push(...linked(page).filter((path) => path.endsWith('.md') && existsSync(join(root, path))))
  }
  expect(pages.filter((page) => !reached.has(page))).toEqual([])
})

test('every example is on a page', () => {
  const examples = filesBelow('tools/examples', '')
  expect(examples.length).toBeGreaterThan(5)
  const shown = new Set(pages.flatMap(linked))
  expect(examples.filter((path) => !shown.has(path))).toEqual([])
})

/** Cells of the first column below a head, of the first such table. */
function firstColumn(page: string, head: RegExp): string[] {
  const lines = pageText(page).split('\n')
  const at = lines.findIndex((line) => head.test(line))
  if (at < 0) return []
  const rows = lines.slice(at + 2)
  const end = rows.findIndex((line) => !line.startsWith('|'))
  return rows.slice(0, end).map((line) => line.split('|')[1]!.trim())
}

const namesIn = (cells: readonly string[]): string[] =>
  cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name!))

const directoriesIn = (folder: string): string[] =>
  readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== 'node_modules')
    .map(({ name }) => name)

const withRooms = Object.keys(rooms).filter((folder) => folder !== 'src/store')

test.each(withRooms)('the page of %s names its rooms in the order in which they stand', (folder) => {
  const cells = firstColumn(`${folder}/README.md`, /^\| room +\|/)
  const directories = new Set(directoriesIn(folder))
  const order = rooms[folder]!.filter((name) => directories.has(name))
  const others = [...directories].filter((name) => !order.includes(name))
  expect(cells).toEqual([...order, ...others].map((name) => `[\`${name}/\`](${name}/README.md)`))
})

const withFiles = pages.filter(
  (page) => /(?:README|SCHEDULER)\.md$/.test(page) && firstColumn(page, /^\| file +\|/).length > 0,
)

test.each(withFiles)('the table of files of %s names each file and folder beside it', (page) => {
  const folder = dirname(page)
  const beside = readdirSync(join(root, folder), { withFileTypes: true })
    .filter(({ name }) => !name.endsWith('.md'))
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name.replace(/\.ts$/, '')))
  const named = namesIn(firstColumn(page, /^\| file +\|/)).map((name) => name.replace(/\.ts$/, ''))
  expect(named.toSorted()).toEqual(beside.toSorted())
})

test('the page of the benches names each of their files and folders', () => {
  const named = new Set([...pageText('bench/README.md').matchAll(/`([\w-]+\/?)`/g)].map(([, name]) => name))
  const beside = readdirSync(join(root, 'bench'), { withFileTypes: true })
    .filter(({ name }) => !name.endsWith('.md'))
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name.replace(/\.ts$/, '')))
  expect(beside.filter((name) => !named.has(name))).toEqual([])
})

test('the page of the directory names each file of a queue', () => {
  const source = readFileSync(join(root, 'src/disk/safe-directory.ts'), 'utf8')
  const kinds = source.split('const kindOf')[1]!.split('\n}')[0]!
  const names = [...kinds.matchAll(/^ {2}'?([\w.-]+)'?: '/gm)].map(([, name]) => name!)
  expect(names).toContain('queue.json')
  const shown = namesIn(firstColumn('src/directory/README.md', /^\| name +\|/)).map((name) =>
    name.replace(/\/.*$/, ''),
  )
  expect(names.filter((name) => !name.endsWith('.new') && !shown.includes(name))).toEqual([])
})

test('the page on vulnerabilities says where reports go, as package.json does, and promises no time without it', () => {
  const { bugs, repository } = JSON.parse(pageText('package.json')) as Record<string, unknown>
  const page = pageText('src/SECURITY.md')
  expect([bugs === undefined && repository === undefined, /\b(?:days|hours)\b/.test(page)]).not.toEqual([
    true,
    true,
  ])
  expect(page.includes('no address for reports yet')).toBe(bugs === undefined && repository === undefined)
})
