/** The README and the pages beside the code say what is there: examples run and print what is said,
 * tables are those of the code. */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { generated, withGenerated } from '../tools/pages.js'
import { project } from './project.js'
import { floors } from './tree/floors.js'

const root = new URL('..', import.meta.url)
const pageText = (path: string): string => readFileSync(new URL(path, root), 'utf8')
const readme = pageText('README.md')

interface Package {
  readonly scripts: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly optionalDependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}
const manifest = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as Package

const pagesWithExamples = ['README.md', 'src/EMBEDDING.md', 'src/adapters/README.md']
const examples = pagesWithExamples.flatMap((page) =>
  [...pageText(page).matchAll(/```js\n([\s\S]*?)```\n\nIt prints\n\n```text\n([\s\S]*?)```/g)].map(
    ([, code, printed]) => ({ page, code: code!, printed: printed! }),
  ),
)

test('every program in the examples is run', () => {
  for (const page of pagesWithExamples) {
    const shown = examples.filter((example) => example.page === page)
    expect(shown).toHaveLength([...pageText(page).matchAll(/```js\n/g)].length)
    expect(shown.length).toBeGreaterThanOrEqual(1)
  }
})

test.each(examples)(
  'an example of $page, as a program of its own, prints what the page says',
  ({ code, printed }) => {
    const directory = project()
    writeFileSync(join(directory, 'main.js'), code)
    const run = spawnSync(process.execPath, ['main.js'], {
      cwd: directory,
      encoding: 'utf8',
      timeout: 120_000,
    })
    expect(run).toMatchObject({ stdout: printed, stderr: '', status: 0 })
  },
)

const programs = [...pagesWithExamples, 'src/sim/README.md'].flatMap((page) =>
  [...pageText(page).matchAll(/```(?:js|ts)\n([\s\S]*?)```/g)].map(([, code]) => ({ page, code: code! })),
)

test.each(programs)('an example of $page compiles in strict TypeScript', ({ code }) => {
  const directory = project()
  writeFileSync(join(directory, 'main.ts'), code)
  const compilerOptions = {
    module: 'nodenext',
    target: 'es2022',
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    verbatimModuleSyntax: true,
    noEmit: true,
    types: ['node'],
    typeRoots: [join(fileURLToPath(root), 'node_modules/@types')],
  }
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['main.ts'] }))
  const tsc = fileURLToPath(new URL('node_modules/typescript/bin/tsc', root))
  const { stdout } = spawnSync(process.execPath, [tsc, '-p', directory], { encoding: 'utf8' })
  expect(stdout).toBe('')
})

test.each(Object.keys(generated))('%s is what the code says', (page) => {
  expect(pageText(page)).toBe(withGenerated(pageText(page), generated[page]!()))
})

test('the map names every folder of the source, on its floor', () => {
  const rows = [...pageText('src/README.md').matchAll(/^\| \[`(\w+)\/`\]\(\1\/\w+\.md\) *\| ([0-9]+)/gm)]
  const folders = readdirSync(new URL('src', root), { withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  )
  expect(new Set(rows.map(([, folder]) => folder))).toEqual(new Set(folders.map(({ name }) => name)))
  for (const [, folder, floor] of rows) expect([folder, Number(floor)]).toEqual([folder, floors[folder!]])
})

test('every dependency is named with its reason, and no other', () => {
  const text = pageText('src/DEPENDENCIES.md')
  const [table = '', development = ''] = text.split('For development')
  const named = [...table.matchAll(/^\| `([\w-]+)` /gm)].map(([, name]) => name)
  const needed = { ...manifest.dependencies, ...manifest.optionalDependencies }
  expect(new Set(named)).toEqual(new Set(Object.keys(needed)))
  const others = [...development.matchAll(/`([@\w/-]+)`/g)].map(([, name]) => name)
  expect(new Set(others)).toEqual(new Set(Object.keys(manifest.devDependencies)))
})

test('every script that is named exists', () => {
  const named = [...readme.matchAll(/npm run ([\w:]+)/g)].map(([, name]) => name!)
  expect(Object.keys(manifest.scripts)).toEqual(expect.arrayContaining([...new Set(named), 'start', 'test']))
})

test('the sections stand in the order of the house style', () => {
  const titles = [...readme.matchAll(/^## (.*)$/gm)].map(([, title]) => title)
  expect(titles).toEqual([
    'What it guarantees',
    'What it does not',
    'An example',
    'The path of a message',
    'Figures',
    'Assumptions',
    'How it is tested',
    'When not to use it',
    'Where to read on',
    'Changes',
  ])
})

test('the README is short, and a cell of its tables can be read at a glance', () => {
  expect(readme.split('\n').length - 1).toBeLessThanOrEqual(200)
  const cells = [...readme.matchAll(/^\|(.*)\|$/gm)].flatMap(([, row]) => row!.split('|'))
  const words = (cell: string): number =>
    cell
      .replace(/\]\([^)]*\)/g, ']')
      .trim()
      .split(/\s+/).length
  expect(cells.filter((cell) => words(cell) > 15)).toEqual([])
})

test('every folder and file that is named is there', () => {
  const named = [...readme.matchAll(/`((?:src|test|tools|bench)\/[\w./-]*)`/g)].map(([, path]) => path!)
  expect(named.filter((path) => !existsSync(new URL(path, root)))).toEqual([])
})
