/** What another project gets: the built package, its entries and their types, without what is only
 * there for development. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { project, root } from './project.js'

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>
}
const entries = Object.entries(manifest.exports).filter(([, target]) => typeof target !== 'string')
const files = entries.flatMap(([, target]) =>
  typeof target === 'string' ? [] : [target.types, target.default],
)

function packedPaths(): string[] {
  const packed = JSON.parse(
    execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      cwd: root,
      stdio: 'pipe',
    }).toString(),
  ) as [{ readonly files: readonly { readonly path: string }[] }]
  return packed[0].files.map(({ path }) => path)
}

test('every entry is in the package', () => {
  const paths = packedPaths().map((path) => `./${path}`)
  const pages = ['./README.md', './LICENSE', './dist/man/waybill.1', './src/record/FORMAT.md']
  expect(paths).toEqual(expect.arrayContaining([...files, ...pages]))
  expect(
    paths.filter((path) =>
      /^\.\/(?:test(?!\/README\.md)|bench(?!\/results\/plots\/|\/(?:\w+\/)?\w+\.md$)|node_modules)\//.test(
        path,
      ),
    ),
  ).toEqual([])
  // Of the built modules, those of the page alone: the rest lies in the bundle.
  expect(paths.filter((path) => /^\.\/dist\/(?!bundle|src\/console).*\.js$/.test(path))).toEqual([])
})

test('what its pages link to, and what its source maps map to, is in the package', () => {
  const packed = packedPaths()
  const pages = packed.filter((path) => path.endsWith('.md'))
  const links = pages.flatMap((page) =>
    [
      ...readFileSync(join(root, page), 'utf8')
        .replace(/```[\s\S]*?```/g, '')
        .matchAll(/\]\(([^)#\s:]+)(?:#[^)]*)?\)/g),
    ].map(([, target]) => join(dirname(page), target!)),
  )
  const sources = packed
    .filter((path) => path.endsWith('.js.map'))
    .flatMap((map) => {
      const { sources } = JSON.parse(readFileSync(join(root, map), 'utf8')) as { readonly sources: string[] }
      return sources.map((source) => join(dirname(map), source))
    })
  expect(links.length).toBeGreaterThan(20)
  expect(sources.length).toBeGreaterThan(200)
  const isThere = new Set(packed.flatMap((path) => [path, dirname(path)]))
  expect([...links, ...sources].filter((path) => !isThere.has(path.replace(/\/$/, '')))).toEqual([])
})

/** Programs without `skipLibCheck` compile all declarations that an entry reaches: a package
 * without types in one of them is TS7016. */
test('declarations that an entry reaches name no package that brings no types', () => {
  const named = new Set<string>()
  const reached = new Set<string>()
  const visit = (path: string): void => {
    if (reached.has(path)) return
    reached.add(path)
    const imports = readFileSync(path, 'utf8').matchAll(/(?:from |import\()['"]([^'"]+)['"]/g)
    for (const [, name] of imports)
      if (name!.startsWith('.')) visit(join(dirname(path), name!.replace(/\.js$/, '.d.ts')))
      else if (!name!.startsWith('node:')) named.add(/^(?:@[^/]+\/)?[^/]+/.exec(name!)![0])
  }
  for (const [, target] of entries)
    visit(join(root, (target as { readonly types: string }).types.replace(/^\.\//, '')))
  expect(reached.size).toBeGreaterThan(100)
  // Types that only a developer of Waybill has installed.
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly devDependencies: Readonly<Record<string, string>>
  }
  const withoutTypes = [...named].filter((name) => Object.hasOwn(devDependencies, `@types/${name}`))
  expect([...named]).toContain('prom-client')
  expect(withoutTypes).toEqual([])
})

/** A bundler that does not find a package at the head of a module gives up, or makes a file
 * that cannot start. It does not see what `createRequire` loads. */
test('no chunk needs at its head what may be missing, and one module loads what bundlers do not see', () => {
  const { optionalDependencies, peerDependencies } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  ) as Readonly<Record<'optionalDependencies' | 'peerDependencies', Readonly<Record<string, string>>>>
  const missing = new Set([...Object.keys(optionalDependencies), ...Object.keys(peerDependencies)])
  const chunks = packedPaths().filter((path) => /^dist\/bundle\/.*\.js$/.test(path))
  const heads = chunks.flatMap((path) =>
    [
      ...readFileSync(join(root, path), 'utf8').matchAll(/^(?:import|export) (?:[^;]*? from )?"([^"]+)";$/gm),
    ].map(([, name]) => `${path}: ${name}`),
  )
  expect(heads.length).toBeGreaterThan(500)
  expect(heads.filter((head) => missing.has(head.split(': ')[1]!))).toEqual([])
  const loaders = packedPaths().filter(
    (path) => /^src\/.*\.ts$/.test(path) && readFileSync(join(root, path), 'utf8').includes('createRequire('),
  )
  expect(loaders).toEqual(['src/base/at-first-use.ts'])
})

/** The package as a file. */
function packed(): string {
  const directory = mkdtempSync(join(tmpdir(), 'waybill-package-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const pack = ['pack', '--json', '--ignore-scripts', '--pack-destination', directory]
  const [made] = JSON.parse(execFileSync('npm', pack, { cwd: root, stdio: 'pipe' }).toString()) as [
    { readonly filename: string },
  ]
  return join(directory, made.filename)
}

test.each([
  ['publint', (file: string) => ['run', file, '--strict']],
  ['attw', (file: string) => [file, '--profile', 'esm-only', '--format', 'ascii', '--no-color']],
] as const)('%s finds nothing wrong with the package', (program, argumentsFor) => {
  const found = spawnSync(join(root, 'node_modules/.bin', program), argumentsFor(packed()), {
    encoding: 'utf8',
  })
  expect(found).toMatchObject({ status: 0, stderr: '' })
  // publint says so; attw has a line for each entry, and a status.
  expect(found.stdout).toMatch(/All good!|node16 \(from ESM\): 🟢/)
})

test('every entry can be imported, and has what the README imports', () => {
  const directory = project()
  const named: Readonly<Record<string, string>> = {
    waybill: 'openQueue',
    'waybill/sim': 'simulate',
    'waybill/nodemailer': 'queueTransport',
    'waybill/smtp-server': 'smtpHandlers',
    'waybill/prometheus': 'prometheus',
  }
  expect(Object.keys(named)).toEqual(entries.map(([entry]) => entry.replace(/^\./, 'waybill')))
  const program = Object.entries(named)
    .map(([entry, name]) => `console.log(typeof (await import('${entry}')).${name})`)
    .join('\n')
  writeFileSync(join(directory, 'main.js'), program)
  const output = execFileSync(process.execPath, ['main.js'], { cwd: directory }).toString()
  expect(output).toBe('function\n'.repeat(entries.length))
})

test('an embedder who does not want the numbers does not load their library', () => {
  const directory = project()
  writeFileSync(
    join(directory, 'main.js'),
    `import { createRequire } from 'node:module'
     await Promise.all(['waybill', 'waybill/nodemailer', 'waybill/smtp-server'].map((entry) => import(entry)))
     const loaded = () => Object.keys(createRequire(import.meta.url).cache).filter((path) => path.includes('prom-client')).length > 0
     console.log(loaded())
     await import('waybill/prometheus')
     console.log(loaded())`,
  )
  expect(execFileSync(process.execPath, ['main.js'], { cwd: directory }).toString()).toBe('false\ntrue\n')
})

test('the types are there for another project, and are those of nodemailer, smtp-server and prom-client', () => {
  const directory = project()
  writeFileSync(
    join(directory, 'main.ts'),
    `import { Resolver } from 'node:dns/promises'
     import { createTransport } from 'nodemailer'
     import { Registry } from 'prom-client'
     import { SMTPServer } from 'smtp-server'
     import { maildirTransport, mxTransport, openQueue, serveControl, smtpTransport, type MxResolver, type Queue } from 'waybill'
     import { queueTransport } from 'waybill/nodemailer'
     import { prometheus } from 'waybill/prometheus'
     import { simulate } from 'waybill/sim'
     import { smtpHandlers } from 'waybill/smtp-server'
     declare const queue: Queue
     export const id: string = (await createTransport(queueTransport(queue)).sendMail({ text: '' })).queueId
     export const server: SMTPServer = new SMTPServer({ authOptional: true, ...smtpHandlers(queue, { hostname: 'mx' }) })
     export const registry: Registry = prometheus(queue, new Registry())
     export const freeBytes: number = (await queue.room()).freeBytes
     export { openQueue, simulate }
     // What is left to inference has names that another project can write down.
     export const verbs = [queue.hold, queue.flush, queue.reroute, queue.list, queue.stats, queue.submit] as const
     export const transports = [smtpTransport, mxTransport, maildirTransport, serveControl] as const
     export const resolver: MxResolver = new Resolver()
     // @ts-expect-error: a queue is no option
     export const wrong = smtpHandlers(queue, queue)
     // @ts-expect-error: nothing can be submitted to it
     export const none = queueTransport({ isCrashed: false })
    `,
  )
  const options = {
    strict: true,
    exactOptionalPropertyTypes: true,
    module: 'nodenext',
    target: 'es2022',
    declaration: true,
    outDir: 'out',
    typeRoots: [join(root, 'node_modules/@types')],
    types: ['node'],
  }
  writeFileSync(
    join(directory, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: options, files: ['main.ts'] }),
  )
  const told = execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', '.'], {
    cwd: directory,
    encoding: 'utf8',
  })
  expect(told).toBe('')
})
