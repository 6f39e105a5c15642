/** Takes guarantees away one at a time and demands that each loss is noticed.
 * Invariant: the engine that is tested is the one that was built; the damage is done to a copy. */
import { spawn } from 'node:child_process'
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { huntNames } from '../../src/sim/hunt.js'
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

/** A hunt that takes longer has not found it. */
const hunterMsMax = 120_000

/** @param dist the build, with `src` and `tools` in it, @param parallel hunters at once, @param only names; all when there are none */
export async function sabotage(
  dist: string,
  seed: number,
  parallel: number,
  onVerdict: (verdict: Verdict) => void,
  only: readonly string[] = [],
): Promise<Verdict[]> {
  const queue = mutations.filter(({ name }) => only.length === 0 || only.includes(name))
  const verdicts: Verdict[] = []
  const work = async (): Promise<void> => {
    for (let mutation = queue.shift(); mutation !== undefined; mutation = queue.shift()) {
      const verdict = await judge(dist, seed, mutation)
      verdicts.push(verdict)
      onVerdict(verdict)
    }
  }
  await Promise.all(Array.from({ length: parallel }, work))
  return mutations.flatMap((mutation) => verdicts.filter((verdict) => verdict.mutation === mutation))
}

async function judge(dist: string, seed: number, mutation: Mutation): Promise<Verdict> {
  const directory = `${dist}/sabotage/${mutation.name}`
  await rm(directory, { recursive: true, force: true })
  await mkdir(directory, { recursive: true })
  try {
    await cp(`${dist}/src`, directory, { recursive: true, filter: (path) => !/\.(d\.ts|map)$/.test(path) })
    for (const edit of mutation.edits) await damage(directory, mutation.name, edit)
    const found = await hunter(dist, directory, seed, mutation)
    return { ...notFound, seed, ...found, mutation, found: found.oracle !== undefined }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

const notFound = { hunt: '', op: 0, oracle: '', text: '', crashCount: 0 }

/** @throws Error when the text is not there exactly once */
export async function damage(directory: string, name: string, { file, find, replace }: Edit): Promise<void> {
  const path = `${directory}/${file}`
  const text = await readFile(path, 'utf8')
  const count = text.split(find).length - 1
  if (count !== 1) throw new Error(`sabotage ${name}: ${file} has the text ${count} times, not once: ${find}`)
  await writeFile(
    path,
    text.replace(find, () => replace),
  )
}

function hunter(
  dist: string,
  directory: string,
  seed: number,
  { hunts }: Mutation,
): Promise<Partial<Omit<Verdict, 'mutation' | 'found'>>> {
  const child = `${dist}/tools/crash/sabotage-child.js`
  const names = [...hunts, ...huntNames.filter((name) => !hunts.includes(name))]
  return new Promise((resolve, reject) => {
    const process_ = spawn(process.execPath, [child, directory, String(seed), ...names], {
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
