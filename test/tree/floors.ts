/** The floors of the source (a folder imports lower floors and itself) as data, and what breaks them. */
import { codeOf, type Source } from './sources.js'

export const floors: Readonly<Record<string, number>> = {
  base: 0,
  disk: 1,
  record: 1,
  policy: 1,
  log: 2,
  active: 2,
  lane: 3,
  garbage: 3,
  scheduler: 3,
  recovery: 4,
  delivery: 4,
  bounce: 4,
  engine: 5,
  admin: 6,
  inspect: 6,
  relay: 6,
  queue: 7,
  adapters: 8,
  sim: 8,
}

/** Folders that decide and do not act: no module of the system, no clock, no chance. */
export const pureFolders: readonly string[] = [
  'record',
  'policy',
  'active',
  'lane',
  'garbage',
  'scheduler',
  'recovery',
  'log',
]
/** Of base, what stands for the system: the checksum's implementation, the system's clock and seed. */
const ports: readonly string[] = ['src/base/clock.ts', 'src/base/prng.ts', 'src/base/checksum.ts']

/** What each folder may have from the system beside its own floor. */
const systemAllowed: readonly [path: RegExp, modules: RegExp][] = [
  [/^src\/disk\//, /^node:/],
  [/^src\/relay\//, /^node:/],
  [/^src\/base\/checksum\.ts$/, /^node:zlib$/],
  // Composing a report hashes its parts and encodes words; no input or output.
  [/^src\/bounce\//, /^node:(crypto|buffer)$/],
  [/^src\/delivery\/transport\.ts$/, /^node:stream$/],
  [/^src\/engine\//, /^node:(stream|events)$/],
  [/^src\/adapters\/nodemailer\.ts$/, /^node:events$/],
  [/^src\/(admin|inspect|sim)\//, /^node:(stream|events|path)$/],
  [/^src\/sim\/state-key\.ts$/, /^node:(crypto|util)$/],
  [/^src\/admin\/control-(channel|server)\.ts$/, /^node:net$/],
]

const folderOf = (path: string): string => /^src\/([^/]+)\//.exec(path)?.[1] ?? ''

/** Sentences about what breaks the floors. */
export function floorViolations(source: Source): string[] {
  const { path, imports } = source
  const folder = folderOf(path)
  if (path === 'src/errors.ts')
    return imports.map((module) => `${path} imports ${module}: it stands below everything`)
  if (folder === '') return []
  const floor = floors[folder]
  if (floor === undefined) return [`${path}: the folder has no floor`]
  return imports.flatMap((module) => {
    if (!module.startsWith('src/') || module === 'src/errors.ts') return []
    const other = folderOf(module)
    if (other === folder) return []
    const below = floors[other]
    return below !== undefined && below < floor
      ? []
      : [`${path} (floor ${floor}) imports ${module} (floor ${below ?? '?'})`]
  })
}

/** Sentences about modules of the system that the folder has no business with. */
export const systemViolations = ({ path, imports }: Source): string[] =>
  imports
    .filter((module) => module.startsWith('node:'))
    .filter((module) => !systemAllowed.some(([paths, modules]) => paths.test(path) && modules.test(module)))
    .map((module) => `${path} imports ${module}`)

const impure =
  /\b(?:Date\.now|new Date\(\)|Math\.random|setTimeout|setInterval|setImmediate|performance\.now|process\.)/g

/** Sentences about clocks, chance and timers in what has to be replayable: all of src/ but the ports and the relay. */
export function purityViolations(source: Source): string[] {
  const { path } = source
  if (ports.includes(path) || /^src\/(relay|disk)\//.test(path)) return []
  // The world runs promise callbacks out by the system's own means.
  if (path === 'src/sim/world.ts') return []
  return [...codeOf(source).matchAll(impure)].map(([word]) => `${path} mentions ${word}`)
}
