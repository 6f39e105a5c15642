/** `npm run bench` lists the benches; `npm run bench -- NAME [--json] [--save] [--directory DIR]` runs one.
 * Every figure of the README comes from here. What is measured together runs interleaved, several times; on a machine that
 * others use too, ratios of one run hold, absolute figures do not. */
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { benches } from './benches.js'
import { machine, packageRoot } from './machine.js'
import { Output } from './output.js'

const usage = 'npm run bench -- NAME [--json] [--save] [--directory DIR]'

interface Options {
  readonly json: boolean
  readonly save: boolean
  readonly directory: string
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      json: { type: 'boolean', default: false },
      save: { type: 'boolean', default: false },
      directory: { type: 'string', default: tmpdir() },
    },
  })
  const [name] = positionals
  if (name === undefined) {
    console.log(`${usage}\n`)
    const width = Math.max(...Object.keys(benches).map((known) => known.length))
    for (const [known, { about }] of Object.entries(benches)) console.log(`${known.padEnd(width)}  ${about}`)
    return 0
  }
  if (!Object.hasOwn(benches, name)) {
    console.error(`there is no bench '${name}'; ${usage}`)
    return 2
  }
  if (values.save) return runAndSave(name, values)
  await runHere(name, values)
  return 0
}

async function runHere(name: string, { json, directory }: Options): Promise<void> {
  const output = new Output(json)
  const own = mkdtempSync(join(directory, 'waybill-bench-'))
  try {
    output.facts('machine', { bench: name, startedAt: new Date().toISOString(), ...machine(own) })
    await benches[name]!.run({ json, output, directory: own })
  } finally {
    rmSync(own, { recursive: true, force: true })
  }
}

/** A run with --json as a child, its lines kept in bench/results/NAME.json. */
function runAndSave(name: string, { directory }: Options): Promise<number> {
  const child = spawn(
    process.execPath,
    [...process.execArgv, fileURLToPath(import.meta.url), name, '--json', '--directory', directory],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
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
        writeFileSync(join(results, `${name}.json`), `${JSON.stringify(rows, null, 2)}\n`)
      }
      resolve(code ?? 1)
    })
  })
}

process.exitCode = await main()
