/** The floors of the source as data, and what breaks them.
 * Invariant: a folder imports lower floors and itself; a room inside a folder imports the rooms
 * named before it. */
import { codeOf, type Source } from './sources.js'

export const floors: Readonly<Record<string, number>> = {
  base: 0,
  disk: 1,
  record: 1,
  policy: 1,
  log: 2,
  active: 2,
  store: 2,
  directory: 3,
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
  backup: 7,
  history: 6,
  'queue.ts': 8,
  control: 9,
  adapters: 9,
  http: 10,
  sim: 9,
  console: 10,
  mailq: 10,
}

/** The rooms of a folder, the lowest first. A file of the folder itself may stand among them;
 * others stand above all. */
export const rooms: Readonly<Record<string, readonly string[]>> = {
  'src/engine': [
    'side-logs',
    'keys',
    'outcomes',
    'message',
    'life',
    'schedule',
    'accept',
    'deliver',
    'checkpoint',
    'start',
    'recover',
    'settle',
    'cleaning',
  ],
  'src/admin': ['select', 'verbs'],
  'src/inspect': ['damage', 'queue', 'records', 'messages', 'verify', 'figures'],
  'src/relay': [
    'listening.ts',
    'etrn.ts',
    'tables',
    'dns',
    'tls',
    'dkim',
    'mime',
    'parameters',
    'smtp-in',
    'smtp-out',
    'maildir',
    'maildrop',
    'agents',
  ],
  'src/store': ['store.ts', 'calls.ts', 'replication-safety.ts', 'primary.ts', 'store-url.ts', 'postgres'],
  'src/http': ['wire', 'figures', 'inspection', 'content', 'api'],
  'src/sim': ['world', 'disk', 'workload', 'model', 'life', 'store', 'hunt'],
  'src/console': ['facts', 'parts', 'page'],
  'tools/commands': [
    'cli',
    'text',
    'policy',
    'look',
    'store',
    'door',
    'log',
    'parameters',
    'tables',
    'serve',
    'secrets',
    'fill',
    'operate',
    'submit',
    'watch',
    'sendmail',
    'help',
  ],
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
/** What stands for the system: the checksum's implementation, its clock and seed; and a file and
 * variables that PostgreSQL's clients read. */
const ports: readonly string[] = [
  'src/base/clock.ts',
  'src/base/prng.ts',
  'src/base/checksum.ts',
  'src/store/postgres/filed-password.ts',
  'src/store/postgres/client-url.ts',
]

/** What each folder may have from the system beside its own floor. */
const systemAllowed: readonly [path: RegExp, modules: RegExp][] = [
  [/^src\/disk\//, /^node:/],
  [/^src\/relay\//, /^node:/],
  [/^src\/http\//, /^node:/],
  [/^src\/backup\//, /^node:(fs|fs\/promises|path|crypto|stream\/promises)$/],
  [/^src\/base\/checksum\.ts$/, /^node:zlib$/],
  [/^src\/base\/clock\.ts$/, /^node:timers$/],
  [/^src\/base\/realms\.ts$/, /^node:util$/],
  [/^src\/base\/at-first-use\.ts$/, /^node:module$/],
  // Composing a report hashes its parts and encodes words; no input or output.
  [/^src\/bounce\//, /^node:(crypto|buffer)$/],
  [/^src\/delivery\/transport\.ts$/, /^node:stream$/],
  [/^src\/engine\//, /^node:(stream|events)$/],
  [/^src\/engine\/life\/own-context\.ts$/, /^node:async_hooks$/],
  [/^src\/engine\/life\/tracing\.ts$/, /^node:diagnostics_channel$/],
  [/^src\/adapters\/nodemailer\.ts$/, /^node:events$/],
  [/^src\/(admin|control|directory|inspect|sim)\//, /^node:(stream|events|path)$/],
  // A life's name must not be guessed from a seed.
  [/^src\/store\/postgres\/pg-store\.ts$/, /^node:crypto$/],
  [/^src\/store\/postgres\/filed-password\.ts$/, /^node:(fs\/promises|os|path|process)$/],
  [/^src\/store\/postgres\/client-url\.ts$/, /^node:process$/],
  [/^src\/sim\/hunt\/state-key\.ts$/, /^node:(crypto|util)$/],
  [/^src\/control\/(channel|server)\.ts$/, /^node:net$/],
  [/^src\/mailq\/mailq-port\.ts$/, /^node:net$/],
]

/** The folder on the floor, or the file that stands there by itself. */
const folderOf = (path: string): string =>
  /^src\/([^/]+)\//.exec(path)?.[1] ?? (path === 'src/queue.ts' ? 'queue.ts' : '')

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

/** Sentences about imports of rooms that stand higher in the same folder. */
export function roomViolations({ path, imports }: Source): string[] {
  return Object.entries(rooms).flatMap(([folder, names]) => {
    const floorIn = (file: string): number | undefined => {
      if (!file.startsWith(`${folder}/`)) return undefined
      const name = file.slice(folder.length + 1).split('/')[0]!
      const at = names.indexOf(name)
      return at < 0 ? names.length : at
    }
    const floor = floorIn(path)
    if (floor === undefined) return []
    return imports
      .filter((module) => (floorIn(module) ?? -1) > floor)
      .map((module) => `${path} imports ${module}, from a room that stands higher`)
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

/** Sentences about clocks, chance and timers in what has to be replayable: all of src/ but the
 * ports and the relay. */
const impureBut = (source: Source, allowed: string): string[] =>
  [...codeOf(source).matchAll(impure)]
    .filter(([word]) => word !== allowed)
    .map(([word]) => `${source.path} mentions ${word}`)

export function purityViolations(source: Source): string[] {
  const { path } = source
  // In a browser there is nothing to replay.
  if (ports.includes(path) || /^src\/(relay|disk|console\/(?:parts|page))\//.test(path)) return []
  // The world runs promise callbacks out by the system's own means.
  if (path === 'src/sim/world/world.ts') return []
  // A defect of a listener that nobody hears as an event is said by Node; nothing depends on it.
  if (path === 'src/engine/life/option-listener.ts') return impureBut(source, 'process.')
  return [...codeOf(source).matchAll(impure)].map(([word]) => `${path} mentions ${word}`)
}
