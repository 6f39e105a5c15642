/** The README says what is there: its examples run and print what it says, its tables are those of the code. */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { countedByEvents, notedByEvents } from '../src/adapters/event-metrics.js'
import { asked, measured } from '../src/adapters/metrics.js'
import { WaybillError, type ErrorCode } from '../src/errors.js'
import { relayMetricNames } from '../tools/commands/serve/metrics.js'
import { project } from './project.js'
import { floors } from './tree/floors.js'

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
const root = new URL('..', import.meta.url)

interface Package {
  readonly scripts: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}
const manifest = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as Package

function section(title: string): string {
  const start = readme.indexOf(`\n## ${title}\n`)
  expect(start, `the section '${title}'`).toBeGreaterThan(0)
  const end = readme.indexOf('\n## ', start + 4)
  return readme.slice(start, end < 0 ? undefined : end)
}

const examples = [
  ...section('An example').matchAll(/```js\n([\s\S]*?)```\n\nIt prints\n\n```text\n([\s\S]*?)```/g),
].map(([, code, printed]) => ({ code: code!, printed: printed! }))

test('every program in the examples is run', () => {
  expect(examples).toHaveLength([...section('An example').matchAll(/```js\n/g)].length)
  expect(examples.length).toBeGreaterThanOrEqual(2)
})

test.each(examples)(
  'an example, as a program of its own, prints what the README says',
  ({ code, printed }) => {
    const directory = project()
    writeFileSync(join(directory, 'main.js'), code)
    const run = spawnSync(process.execPath, ['main.js'], {
      cwd: directory,
      encoding: 'utf8',
      timeout: 30_000,
    })
    expect(run).toMatchObject({ stdout: printed, stderr: '', status: 0 })
  },
)

test('the table of metrics has every one that there is', () => {
  const named = [...section('Operating it').matchAll(/^\| (`waybill_.*?) *\| /gm)].flatMap(([, cell]) =>
    [...cell!.matchAll(/`(\w+)`/g)].map(([, name]) => name),
  )
  const metrics = [...measured, ...asked, ...countedByEvents, ...notedByEvents].map(({ name }) => name)
  expect(named).toHaveLength(new Set(named).size)
  expect(new Set(named)).toEqual(new Set([...metrics, 'waybill_up', ...relayMetricNames]))
})

test('the table of error codes is the catalogue', () => {
  const rows = [...section('Error codes').matchAll(/^\| `([A-Z_]+)` *\| ([0-9]+) ([0-9.]+) *\| (.*?) *\|$/gm)]
  const told = rows.map(([, code, reply, enhanced, what]) => [
    code,
    Number(reply),
    enhanced,
    `${what}.`.toLowerCase(),
  ])
  const catalogue = readFileSync(new URL('src/errors.ts', root), 'utf8')
  const codes = [...catalogue.matchAll(/^ {2}\/\*\* (.*) \*\/\n {2}\| '([A-Z_]+)'$/gm)]
  expect(codes.length).toBeGreaterThan(20)
  expect(told).toEqual(
    codes.map(([, what, code]) => {
      const { reply } = new WaybillError(code as ErrorCode, 'x')
      return [code, reply.code, reply.enhanced, what!.toLowerCase()]
    }),
  )
})

test('the map names every folder of the source, on its floor', () => {
  const rows = [...section('Map of `src/`').matchAll(/^\| `(\w+)\/` *\| ([0-9])/gm)]
  const folders = readdirSync(new URL('src', root), { withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  )
  expect(new Set(rows.map(([, folder]) => folder))).toEqual(new Set(folders.map(({ name }) => name)))
  for (const [, folder, floor] of rows) expect([folder, Number(floor)]).toEqual([folder, floors[folder!]])
})

test('every dependency is named with its reason, and no other', () => {
  const text = section('Why each dependency is there')
  const [table = '', development = ''] = text.split('For development')
  const named = [...table.matchAll(/^\| `([\w-]+)` /gm)].map(([, name]) => name)
  expect(new Set(named)).toEqual(new Set(Object.keys(manifest.dependencies)))
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
    'Operating it',
    'Error codes',
    'Map of `src/`',
    'Tests, crash hunt, bench',
    'When not to use it',
    'Why each dependency is there',
  ])
})

test('every folder and file that is named is there', () => {
  const named = [...readme.matchAll(/`((?:src|test|tools|bench)\/[\w./-]*)`/g)].map(([, path]) => path!)
  expect(named.filter((path) => !existsSync(new URL(path, root)))).toEqual([])
})
