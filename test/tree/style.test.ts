/** What can be checked by reading: lengths, names, how a file opens, links that lead somewhere. */
import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { codeOf, filesBelow, root, sourceOf, sourcesBelow } from './sources.js'

const sources = sourcesBelow('src')
const everything = [...sources, ...sourcesBelow('tools'), ...sourcesBelow('bench'), ...sourcesBelow('test')]

const linesMax = 300

test('no file of the source is longer than a reader holds in mind', () => {
  const long = sources
    .filter(({ text }) => text.split('\n').length - 1 > linesMax)
    .map(({ path, text }) => `${path}: ${text.split('\n').length - 1} lines`)
  expect(long).toEqual([])
})

test('every file of the source opens with what always holds', () => {
  const silent = sources
    .filter(({ text }) => !/^(?:#!.*\n)?\/\*\*[\s\S]{40,}?\*\//.test(text))
    .map(({ path }) => path)
  expect(silent).toEqual([])
})

const nothingNames = /(?:utils?|helpers?|managers?|misc|common)/i

test('no file and no class is called by a word that names nothing', () => {
  const files = everything.filter(
    ({ path }) => nothingNames.test(path.replace(/^.*\//, '')) || /\/utils?\//.test(path),
  )
  expect(files.map(({ path }) => path)).toEqual([])
  const names = everything.flatMap((source) =>
    [...codeOf(source).matchAll(/\b(?:class|interface|function|const)\s+(\w+)/g)]
      .filter(([, name]) => /(?:Manager|Helper|Utils?|data2)$/.test(name!))
      .map(([, name]) => `${source.path}: ${name}`),
  )
  expect(names).toEqual([])
})

test('nothing is left to do, in brackets or not', () => {
  const left = /\b(?:TODO|FIXME|XXX|HACK)\b/
  const found = everything.filter(({ path, text }) => path !== 'test/tree/style.test.ts' && left.test(text))
  expect(found.map(({ path }) => path)).toEqual([])
})

test('every link in a page leads to a file that is there', () => {
  const pages = [
    'README.md',
    ...['src', 'test', 'bench', 'tools'].flatMap((folder) => filesBelow(folder, '.md')),
  ]
  const broken = pages.flatMap((page) => {
    const text = readFileSync(join(root, page), 'utf8').replace(/```[\s\S]*?```/g, '')
    return [...text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)]
      .map(([, target]) => target!)
      .filter((target) => !/^[a-z]+:/.test(target) && !existsSync(join(root, dirname(page), target)))
      .map((target) => `${page}: ${target}`)
  })
  expect(broken).toEqual([])
})

test('a page with a table of the files of its folder names all of them', () => {
  const pages = filesBelow('src', '.md')
    .map((path) => ({ folder: dirname(path), text: readFileSync(join(root, path), 'utf8') }))
    .filter(({ text }) => /\| files? +\|/.test(text))
  expect(pages.map(({ folder }) => folder)).toEqual(
    expect.arrayContaining(['src/engine', 'src/log', 'src/relay']),
  )
  const unnamed = pages.flatMap(({ folder, text }) =>
    sources
      .filter(({ path }) => dirname(path) === folder)
      .filter(({ path }) => !text.includes(`\`${basename(path, '.ts')}\``))
      .map(({ path }) => path),
  )
  expect(unnamed).toEqual([])
})

test('every file that a page or a comment names is there', () => {
  const named = /`((?:src|test|bench|tools)\/[\w./-]+\.(?:ts|md|json))`/g
  const pages = ['README.md', ...filesBelow('src', '.md')].map((path) =>
    sourceOf(path, readFileSync(join(root, path), 'utf8')),
  )
  const missing = pages.flatMap(({ path, text }) =>
    [...text.matchAll(named)]
      .filter(([, file]) => !existsSync(join(root, file!)))
      .map(([, file]) => `${path}: ${file}`),
  )
  expect(missing).toEqual([])
})

test('no docstring stands before another one, where no editor shows it', () => {
  const hidden = sources.flatMap(({ path, text }) =>
    // The first one of a file is the file's.
    [...text.slice(text.indexOf('*/') + 2).matchAll(/\*\/\n\n? *\/\*\*(.*)/g)].map(
      ([, line]) => `${path}:${line}`,
    ),
  )
  expect(hidden).toEqual([])
})

test('what a queue answers later says with which errors', () => {
  const { text } = sources.find(({ path }) => path === 'src/queue/queue.ts')!
  const later = [
    ...text.matchAll(
      /(\/\*\*(?:(?!\*\/)[\s\S])*\*\/)\n  (?:async )?(\w+)\(.*\): (?:Promise|AsyncIterable)</g,
    ),
  ]
  expect(later.length).toBeGreaterThan(9)
  expect(later.filter(([, comment]) => !comment!.includes('@throws')).map(([, , name]) => name)).toEqual([])
})
