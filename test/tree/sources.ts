/** The files of this tree as the checks see them: path, text, what they import. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, posix, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root: string = fileURLToPath(new URL('../..', import.meta.url))

export interface Source {
  /** From the root, `src/log/segment.ts`. */
  readonly path: string
  readonly text: string
  /** Modules that are imported or exported from, relative ones as paths from the root. */
  readonly imports: readonly string[]
}

/** Ours, not those of packages that a bench has installed. */
export function filesBelow(directory: string, ending: string): string[] {
  return readdirSync(join(root, directory), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((path) => !path.includes('node_modules/'))
    .sort()
}

export const sourcesBelow = (directory: string): Source[] =>
  filesBelow(directory, '.ts').map((path) => sourceOf(path, readFileSync(join(root, path), 'utf8')))

const statement = /^(?:import|export)\s(?:[^'"`;]*?\sfrom\s+)?['"]([^'"]+)['"]/gm
const dynamic = /\bimport\(\s*['"]([^'"]+)['"]\s*\)/g

export function sourceOf(path: string, text: string): Source {
  const named = [...text.matchAll(statement), ...text.matchAll(dynamic)].map(([, module]) => module!)
  const imports = named.map((module) =>
    module.startsWith('.') ? posix.join(posix.dirname(path), module).replace(/\.js$/, '.ts') : module,
  )
  return { path, text, imports }
}

/** The text without comments, strings kept. */
export const codeOf = ({ text }: Source): string =>
  text.replace(
    /('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`)|\/\*[\s\S]*?\*\/|\/\/.*$/gm,
    (_, kept) => (typeof kept === 'string' ? kept : ''),
  )
