/** Reading a queue from outside: each command over a million deferred messages, and its cost for a
 * queue at work.
 * Each run is a separate process, which reports its time and its highest memory; its output is
 * counted and dropped. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { BenchArguments } from './bench.js'
import type { Inspection } from './inspection/child.js'
import { packageRoot } from './machine.js'
import { spreadOf, type Row } from './output.js'

const messageCount = 1_000_000
const rounds = 5
const busyMs = 10_000
const mebibyte = 1024 * 1024

const commands: readonly (readonly string[])[] = [
  ['mailq'],
  ['mailq', '--json'],
  ['qshape', 'deferred'],
  ['stat'],
  ['log stat'],
  ['log verify'],
]
/** Beside a queue at work: none, a short one, long ones. */
const companions: readonly (readonly string[] | undefined)[] = [
  undefined,
  ['stat'],
  ['mailq'],
  ['log verify'],
]

const childPath = fileURLToPath(new URL('./inspection/child.js', import.meta.url))

async function inspect(directory: string, [name, ...args]: readonly string[]): Promise<Inspection> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    childPath,
    name!,
    '--queue',
    directory,
    ...args,
  ])
  return JSON.parse(stdout) as Inspection
}

export async function run({ output, directory, smoke }: BenchArguments): Promise<void> {
  const count = smoke ? 1000 : messageCount
  const queue = join(directory, 'deferred')
  await inspect(queue, ['fill', '--count', String(count)])
  const rows: Row[] = []
  for (const command of commands) {
    const runs: Inspection[] = []
    for (let round = 0; round < (smoke ? 1 : rounds); round++) runs.push(await inspect(queue, command))
    const of = (quantity: (run: Inspection) => number): ReturnType<typeof spreadOf> =>
      spreadOf(runs.map(quantity))
    rows.push({
      command: command.join(' '),
      s: of(({ wallMs }) => wallMs / 1000),
      'CPU s': of(({ cpuMs }) => cpuMs / 1000),
      'RSS MiB': of(({ rssMostBytes }) => rssMostBytes / mebibyte),
      'printed MiB': of(({ printedBytes }) => printedBytes / mebibyte),
    })
  }
  output.table(`reading ${count} deferred messages of 1 KiB`, rows)
  const busy: Row[] = []
  for (const [i, command] of companions.entries())
    busy.push(await besideBusyQueue(join(directory, `busy-${i}`), command, smoke ? 500 : busyMs))
  output.table('a queue at full rate, a command in a loop beside it', busy)
}

async function besideBusyQueue(
  directory: string,
  command: readonly string[] | undefined,
  durationMs: number,
): Promise<Row> {
  const path = join(packageRoot(), 'test', 'inspect', 'busy-queue.mjs')
  const queue = spawn(process.execPath, [path, directory], { stdio: ['ignore', 'pipe', 'inherit'] })
  let submitted = 0
  const working = new Promise<void>((resolve) => {
    createInterface({ input: queue.stdout }).on('line', (line) => {
      submitted = Number(line)
      resolve()
    })
  })
  try {
    await working
    const before = submitted
    const startedAt = performance.now()
    let runs = 0
    while (performance.now() - startedAt < durationMs) {
      if (command === undefined) await new Promise((resolve) => setTimeout(resolve, durationMs))
      else {
        await inspect(directory, command)
        runs++
      }
    }
    const seconds = (performance.now() - startedAt) / 1000
    return { beside: command?.join(' ') ?? 'nothing', runs, 'accepted/s': (submitted - before) / seconds }
  } finally {
    queue.kill('SIGKILL')
    await once(queue, 'close')
  }
}
