/** Puts the built modules together into few files, which the package consists of.
 * Why: Node takes about a millisecond of CPU for each module that it loads. A program that imports
 * `waybill` needs 320 of them, and `waybill sendmail` starts once for each message.
 * The low floors of src/ have a chunk each. Everything else is cut by what is loaded together.
 * Tests of parts and the crash hunts run the modules as they are. */
import { readFileSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

/** The directory of the build. */
const built = fileURLToPath(new URL('..', import.meta.url))

/** What package.json names, and what is started as a thread: `new URL('./NAME.js')`. */
const entries: Readonly<Record<string, string>> = {
  index: 'src/index.js',
  sim: 'src/sim/index.js',
  nodemailer: 'src/adapters/nodemailer.js',
  'smtp-server': 'src/adapters/smtp-server.js',
  prometheus: 'src/adapters/prometheus.js',
  waybill: 'tools/waybill.js',
  'smtp-thread': 'src/relay/smtp-in/smtp-thread.js',
  'inspection-thread': 'src/http/inspection/inspection-thread.js',
}

/** From the lowest floor up. A module is in the first chunk that names it. */
const chunks: readonly [name: string, modules: RegExp][] = [
  ['base', /\/src\/(?:base\/|errors\.js)/],
  ['disk', /\/src\/disk\//],
  ['record', /\/src\/(?:record|policy)\//],
  ['log', /\/src\/(?:log|active|directory|lane|garbage|recovery)\//],
  // Small, and used by commands that need nothing of what follows.
  [
    'words',
    /\/src\/(?:relay\/(?:tables\/(?:address-|nexthop)|mime\/header-addresses)|admin\/select\/listed-message|store\/(?:is-store-url|load-store)|delivery\/call-listener|engine\/life\/option-listener|bounce\/original)/,
  ],
  // What asks a relay needs no engine.
  [
    'asking',
    /\/src\/(?:control\/(?:client|channel|lines|protocol|store-client|call-stream)|admin\/select\/selector|engine\/life\/route\.)/,
  ],
  // A queue in a store is loaded when its URL is given.
  ['engine', /\/src\/(?:scheduler|engine)\/(?!open-in-store)/],
  ['admin', /\/src\/(?:admin\/verbs|control)\//],
  // The clients are loaded with the first connection, and nodemailer with them.
  [
    'outgoing',
    /\/src\/relay\/(?:dkim|dns|maildir|mime|tls|smtp-out\/(?!checked-client|smtp-client|phased-connection))/,
  ],
]

const isOurs = (id: string): boolean => id.startsWith('.') || id.startsWith(built)

rmSync(`${built}bundle`, { recursive: true, force: true })
const bundle = await rolldown({
  input: Object.fromEntries(Object.entries(entries).map(([name, path]) => [name, built + path])),
  platform: 'node',
  external: (id) => !isOurs(id),
  plugins: [
    {
      name: 'maps of the compiler',
      load: (id) =>
        isOurs(id) ? { code: readFileSync(id, 'utf8'), map: readFileSync(`${id}.map`, 'utf8') } : undefined,
    },
  ],
})
await bundle.write({
  dir: `${built}bundle`,
  format: 'esm',
  chunkFileNames: '[name].js',
  sourcemap: true,
  comments: { jsdoc: false },
  codeSplitting: {
    groups: chunks.map(([name, test], at) => ({ name, test, priority: chunks.length - at })),
  },
})
