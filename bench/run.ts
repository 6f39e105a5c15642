/** `npm run bench` lists the benches; `npm run bench -- NAME` runs one.
 *   --json            one JSON object a line instead of tables
 *   --save            the same, kept in bench/results/NAME.json
 *   --as OTHER        kept in bench/results/OTHER.json, as a run on another Node
 *   --smoke           as short as possible: shows that the bench works; is not saved
 *   --directory DIR   the disk that is measured; default: the system's temporary directory
 * Every figure of the README comes from here. Contenders run interleaved, several times: on a
 * shared machine, ratios of one run hold, absolute figures do not. */
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { endWithReader } from '../tools/commands/text/output.js'
import { benches } from './benches.js'
import { machine, packageRoot } from './machine.js'
import { Output } from './output.js'

const usage = 'npm run bench -- NAME [--json] [--save [--as OTHER]] [--smoke] [--directory DIR]'

interface Options {
  readonly json: boolean
  readonly save: boolean
  readonly as?: string | undefined
  readonly directory: string
  readonly smoke: boolean
  readonly to?: string | undefined
  readonly minutes?: string | undefined
}

function parsed(): { readonly values: Options & { readonly help: boolean }; readonly positionals: string[] } {
  return parseArgs({
    allowPositionals: true,
    options: {
      help: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      save: { type: 'boolean', default: false },
      as: { type: 'string' },
      directory: { type: 'string', default: tmpdir() },
      smoke: { type: 'boolean', default: false },
      to: { type: 'string' },
      minutes: { type: 'string' },
    },
  })
}

async function main(): Promise<number> {
  let given: ReturnType<typeof parsed>
  try {
    given = parsed()
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}; ${usage}`)
    return 2
  }
  const { values, positionals } = given
  const [name] = positionals
  if (name === undefined || values.help) {
    console.log(`${usage}\n`)
    const width = Math.max(...Object.keys(benches).map((known) => known.length))
    for (const [known, { about, options }] of Object.entries(benches)) {
      console.log(`${known.padEnd(width)}  ${about}`)
      if (options !== undefined) console.log(`${' '.repeat(width)}  ${options}`)
    }
    return 0
  }
  if (!Object.hasOwn(benches, name)) {
    console.error(`there is no bench '${name}'; ${usage}`)
    return 2
  }
  if (values.save && values.smoke) {
    console.error('a smoke run measures nothing that is worth keeping: --save or --smoke')
    return 2
  }
  if (values.as !== undefined && !values.save) {
    console.error('--as names what --save keeps: --save --as OTHER')
    return 2
  }
  if (values.save) return runAndSave(name, values)
  await runHere(name, values)
  return 0
}

async function runHere(name: string, { json, directory, smoke, to, minutes }: Options): Promise<void> {
  const output = new Output(json)
  mkdirSync(directory, { recursive: true })
  const own = mkdtempSync(join(directory, 'waybill-bench-'))
  process.once('exit', () => rmSync(own, { recursive: true, force: true, maxRetries: 3 }))
  output.facts('machine', { bench: name, startedAt: new Date().toISOString(), ...machine(own) })
  await benches[name]!.run({
    json,
    output,
    directory: own,
    smoke,
    to: to === undefined ? undefined : Number(to),
    minutes: minutes === undefined ? undefined : Number(minutes),
  })
  output.facts('load', { loadAverageAfter: loadavg()[0] ?? 0 })
}

/** A run with --json as a child, its lines kept in bench/results/. */
function runAndSave(name: string, { as: keptAs = name, directory, to, minutes }: Options): Promise<number> {
  const args = [name, '--json', '--directory', directory]
  if (to !== undefined) args.push('--to', to)
  if (minutes !== undefined) args.push('--minutes', minutes)
  const child = spawn(process.execPath, [...process.execArgv, fileURLToPath(import.meta.url), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    text += piece
    process.stdout.write(piece)
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      if (code === 0) {
        const results = join(packageRoot(), 'bench', 'results')
        mkdirSync(results, { recursive: true })
        const rows = text
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as unknown)
        writeFileSync(join(results, `${keptAs}.json`), `${JSON.stringify(rows, null, 2)}\n`)
      }
      resolve(code ?? 1)
    })
  })
}

endWithReader()
process.exitCode = await main()
