/** How much is loaded before anything is done: modules of the package and of others, counted.
 * src/README.md says what CPU that takes. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { waybillPath } from './end-to-end/relay-process.js'
import { root } from './project.js'

/** Notes in the file $LOADED each module that is imported, and at the end what was required. */
const noting = `data:text/javascript,${encodeURIComponent(`
  import { appendFileSync } from 'node:fs'
  import { createRequire, register } from 'node:module'
  register('data:text/javascript,' + encodeURIComponent(\`
    import { appendFileSync } from 'node:fs'
    export function load(url, context, next) {
      if (url.startsWith('file:')) appendFileSync(process.env.LOADED, url.slice(7) + '\\\\n')
      return next(url, context)
    }
  \`))
  const { cache } = createRequire('/')
  process.on('exit', () => appendFileSync(process.env.LOADED, Object.keys(cache).join('\\n')))
`)}`

/** Paths below the package's directory. */
function loadedBy(...args: readonly string[]): string[] {
  const directory = mkdtempSync(join(tmpdir(), 'waybill-weight-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const file = join(directory, 'loaded')
  execFileSync(process.execPath, ['--import', noting, ...args], {
    cwd: directory,
    env: { ...process.env, LOADED: file, WAYBILL_QUEUE: join(directory, 'queue') },
    input: 'Subject: a\n\na\n',
  })
  const paths = new Set(readFileSync(file, 'utf8').split('\n').filter(Boolean))
  return [...paths].map((path) => path.replace(root, ''))
}

const own = (paths: readonly string[]): string[] => paths.filter((path) => path.startsWith('dist/'))
const packages = (paths: readonly string[]): string[] => [
  ...new Set(paths.flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? [])),
]

const importing = (entry: string): string[] => ['--input-type=module', '-e', `import '${root}${entry}'`]

test('an import of waybill loads at most 16 files of its own, and two packages', () => {
  const loaded = loadedBy(...importing('dist/bundle/index.js'))
  expect(own(loaded)).toContain('dist/bundle/engine.js')
  expect(own(loaded).length).toBeLessThanOrEqual(16)
  // Of nodemailer the hash of a body alone.
  expect(packages(loaded).sort()).toEqual(['msgpackr', 'nodemailer'])
  expect(loaded.length).toBeLessThanOrEqual(22)
})

test('the version and the help load at most 18 files, and no package', () => {
  for (const args of [['--version'], ['help']]) {
    const loaded = loadedBy(waybillPath, ...args)
    expect(own(loaded)).toContain('dist/bundle/waybill.js')
    expect(packages(loaded)).toEqual([])
    expect(loaded.length).toBeLessThanOrEqual(18)
  }
})

test('sendmail into a queue without a relay loads at most 36 files', () => {
  const loaded = loadedBy(waybillPath, 'sendmail', '--create', 'a@example.org')
  expect(own(loaded)).toContain('dist/bundle/engine.js')
  // Node 26 does not tell of fs-ext, which is required.
  expect(packages(loaded).filter((name) => name !== 'fs-ext')).toEqual(['msgpackr'])
  expect(loaded.length).toBeLessThanOrEqual(36)
})
