/** The files of the console, read once: the page, its modules, and those of the libraries that it
 * is built from.
 * Invariant: a path is there or it is not; nothing of a request becomes part of the name of a
 * file. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface ConsolePage {
  readonly path: string
  readonly contentType: string
  readonly body: Buffer
}

const contentTypes: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
}

/** Of packages, as the page imports them. */
const vendorFiles: readonly string[] = [
  'lit-html/lit-html.js',
  'lit-html/directive.js',
  'lit-html/directive-helpers.js',
  'lit-html/directives/repeat.js',
  'uplot/dist/uPlot.esm.js',
  'uplot/dist/uPlot.min.css',
]

/** To which problems lead; the build makes HTML of them (tools/help-pages.ts). */
export const helpFiles: readonly string[] = [
  'src/directory/README.md',
  'src/relay/SERVE.md',
  'tools/commands/OPERATING.md',
]

/** @param built where the modules of the page are: `dist/src/console` */
export function consolePages(
  built: string = join(packageDirectory(fileURLToPath(import.meta.url)), 'dist/src/console'),
): ConsolePage[] {
  const own = ['page', 'parts', 'facts'].flatMap((folder) =>
    readdirSync(join(built, folder))
      .filter((name) => /\.(?:js|css|svg|html)$/.test(name))
      .map((name) => pageOf(`/console/${folder}/${name}`, join(built, folder, name))),
  )
  const vendor = vendorFiles.map((path) =>
    pageOf(`/vendor/${path.replace('/dist/', '/')}`, packageFile(path)),
  )
  const help = helpFiles.map((path) => ({
    path: `/help/${path}`,
    contentType: contentTypes['html']!,
    body: readFileSync(helpFileOf(built, path)),
  }))
  const index = own.find(({ path }) => path === '/console/page/index.html')
  if (index === undefined) throw new Error(`${built} has no page: npm run build makes it`)
  return [...own, ...vendor, ...help, { ...index, path: '/' }]
}

export const helpFileOf = (built: string, path: string): string => join(built, 'help', `${path}.html`)

function pageOf(path: string, file: string): ConsolePage {
  const contentType = contentTypes[path.slice(path.lastIndexOf('.') + 1)]!
  return { path, contentType, body: readFileSync(file) }
}

/** Where `package.json` is. */
function packageDirectory(below: string): string {
  let directory = below
  while (!existsSync(join(directory, 'package.json'))) directory = dirname(directory)
  return directory
}

/** What a package exports to Node is not what a browser loads: so its directory is looked for. */
function packageFile(path: string): string {
  const name = path.slice(0, path.indexOf('/'))
  let directory = dirname(createRequire(import.meta.url).resolve(name))
  while (!directory.endsWith(`node_modules/${name}`)) {
    const above = dirname(directory)
    if (above === directory) throw new Error(`the package ${name} is not where it is resolved`)
    directory = above
  }
  return join(dirname(directory), path)
}
