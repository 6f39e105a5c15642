/** Takes guarantees away one at a time and demands that each loss is noticed.
 * Invariant: only a copy of the build is changed, and repaired before the next mutation. */
import { spawn } from 'node:child_process'
import { cp, readFile, rm, writeFile } from 'node:fs/promises'
import { huntNames } from '../../src/sim/hunt/hunt.js'
import { clues, type Place } from './clues.js'
import type { Edit, Mutation } from './mutation.js'
import { mutations } from './mutations.js'

export interface Verdict {
  readonly mutation: Mutation
  readonly found: boolean
  readonly hunt: string
  readonly seed: number
  readonly op: number
  readonly oracle: string
  readonly text: string
  readonly crashCount: number
}

/** A longer hunt counts as unsuccessful. */
const hunterMsMax = 120_000

export interface SabotageOptions {
  /** Of the hunts. */
  readonly seed: number
  /** Hunters at once. */
  readonly parallel: number
  /** Names; all when there are none. */
  readonly only?: readonly string[]
  /** No clue is followed. */
  readonly anew?: boolean
  readonly onVerdict?: (verdict: Verdict) => void
}

/** @param dist the build, with `src` and `tools` in it */
export async function sabotage(dist: string, options: SabotageOptions): Promise<Verdict[]> {
  const { parallel, only = [], onVerdict } = options
  const queue = mutations.filter(({ name }) => only.length === 0 || only.includes(name))
  const verdicts: Verdict[] = []
  const work = async (_: unknown, n: number): Promise<void> => {
    const copy = `${dist}/sabotage/${n}`
    await rm(copy, { recursive: true, force: true })
    await cp(`${dist}/src`, copy, { recursive: true, filter: (path) => !/\.(d\.ts|map)$/.test(path) })
    for (let mutation = queue.shift(); mutation !== undefined; mutation = queue.shift()) {
      const verdict = await judge(dist, copy, options, mutation)
      verdicts.push(verdict)
      onVerdict?.(verdict)
    }
    await rm(copy, { recursive: true })
  }
  await Promise.all(Array.from({ length: parallel }, work))
  return mutations.flatMap((mutation) => verdicts.filter((verdict) => verdict.mutation === mutation))
}

async function judge(
  dist: string,
  copy: string,
  options: SabotageOptions,
  mutation: Mutation,
): Promise<Verdict> {
  for (const edit of mutation.edits) await damage(copy, mutation.name, edit)
  const found = await hunter(dist, copy, placesOf(mutation, options))
  for (const { file } of mutation.edits) await cp(`${dist}/src/${file}`, `${copy}/${file}`)
  return { ...notFound, seed: options.seed, ...found, mutation, found: found.oracle !== undefined }
}

const notFound = { hunt: '', op: 0, oracle: '', text: '', crashCount: 0 }

/** @throws Error if the text does not occur exactly once */
export async function damage(copy: string, name: string, { file, find, replace }: Edit): Promise<void> {
  const path = `${copy}/${file}`
  const text = await readFile(path, 'utf8')
  const count = text.split(find).length - 1
  if (count !== 1) throw new Error(`sabotage ${name}: ${file} has the text ${count} times, not once: ${find}`)
  await writeFile(
    path,
    text.replace(find, () => replace),
  )
}

/** The places to search: its clue, the seeds after the clue (an outgrown clue is near), its own
 * hunt, and all others. */
function placesOf({ name }: Mutation, { seed, anew = false }: SabotageOptions): Place[] {
  const clue = clues[name]
  const hunts = new Set([...(clue === undefined ? [] : [clue.hunt]), ...huntNames])
  const whole = Array.from(hunts, (hunt) => ({ hunt, seed }))
  if (clue === undefined || anew) return whole
  const near = clue.op === undefined ? [] : [{ hunt: clue.hunt, seed: clue.seed }]
  return [clue, ...near, ...whole]
}

function hunter(
  dist: string,
  copy: string,
  places: readonly Place[],
): Promise<Partial<Omit<Verdict, 'mutation' | 'found'>>> {
  const child = `${dist}/tools/crash/sabotage-child.js`
  return new Promise((resolve, reject) => {
    const process_ = spawn(process.execPath, [child, copy, JSON.stringify(places)], {
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: hunterMsMax,
    })
    let output = ''
    process_.stdout.on('data', (piece: Buffer) => (output += piece.toString()))
    process_.on('error', reject)
    process_.on('exit', (code) => {
      const line = output.trim().split('\n').at(-1) ?? ''
      if (line !== '') resolve(JSON.parse(line) as Partial<Verdict>)
      else if (code === null) resolve({ text: `nothing found within ${hunterMsMax / 1000} s` })
      else resolve({ hunt: 'any', oracle: 'O8', text: `the process died with ${code}` })
    })
  })
}
