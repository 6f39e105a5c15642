/** Ends with 0 when the build is newer than everything that it is made of, so that `npm start` does
 * not compile again. */
import { readdirSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const timeOf = (path) => statSync(`${root}/${path}`, { throwIfNoEntry: false })?.mtimeMs
/** The last file that a build makes. */
const built = timeOf('dist/man/waybill.1')
const sources = ['src', 'tools', 'bench'].flatMap((folder) =>
  readdirSync(`${root}/${folder}`, { recursive: true })
    .filter((name) => /\.(?:ts|json|html|css|svg)$/.test(name))
    .map((name) => `${folder}/${String(name)}`),
)
const isBuilt =
  built !== undefined && [...sources, 'package.json', 'tsconfig.json'].every((path) => timeOf(path) < built)
if (!isBuilt) process.stderr.write('building; this takes some seconds, once\n')
process.exit(isBuilt ? 0 : 1)
