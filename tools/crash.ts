/** `npm run crash`: seeded crash runs of the whole engine, replays, and sabotage. */
import { spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { fileURLToPath } from 'node:url'
import { countText } from '../src/base/count-text.js'
import { diskModes, type DiskModeName } from '../src/sim/disk/disk-mode.js'
import type { Finding } from '../src/sim/hunt/exhaustive.js'
import { Tally } from '../src/sim/hunt/tally.js'
import { describeViolation } from '../src/sim/model/violation.js'
import { endWithReader } from './commands/text/output.js'
import { modes, type HuntedRun } from './crash/modes.js'
import { narrowed } from './crash/narrowing.js'
import { sabotage } from './crash/sabotage.js'

const usage = `npm run crash -- [--seeds N] [--from S] [--json]    N seeded runs, from seed S on
npm run crash -- --seed S [--op N] [--only 0,2]      one run again; only the crash before operation N; only these messages
npm run crash -- --rot …                             the same, with a bit turned over in what each crash left
npm run crash -- --torture [--seeds N] [--from S]    the same of chains of lives in which calls fail, too; says how much of what was met
npm run crash -- --torture --seed S [--only 0,2]     one chain again; only these pieces
npm run crash -- --nodes [--seeds N] [--from S]      nodes on one store: deaths, pauses, cuts, failovers, lost and late answers
npm run crash -- --failover [--seeds N] [--from S]   one node, and only the database fails: nothing twice, and no life ends
npm run crash -- --disk KIND …                       any of these on "fresh segments" (neither filled nor used again) or a "store" (atomic calls)
npm run crash -- --narrow …                          any of these in a copy of the build whose windows and bounds are small
npm run crash -- --sabotage [--name X] [--json]      takes guarantees away, one at a time; each must be noticed
npm run crash -- --sabotage --anew                   the same by whole hunts; prints the clues for the next time`

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '200' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    op: { type: 'string' },
    only: { type: 'string' },
    name: { type: 'string' },
    torture: { type: 'boolean', default: false },
    rot: { type: 'boolean', default: false },
    nodes: { type: 'boolean', default: false },
    failover: { type: 'boolean', default: false },
    disk: { type: 'string' },
    narrow: { type: 'boolean', default: false },
    sabotage: { type: 'boolean', default: false },
    anew: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

const dist = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '')
/** This is the copy. */
const isNarrow = dist.endsWith('/narrow')
const disk = diskOf(values.disk)
const modeName = (['torture', 'rot', 'nodes', 'failover'] as const).find((name) => values[name])
const mode = modes[modeName ?? 'random']

const say = (line: string): void => void process.stdout.write(`${line}\n`)

/** Failing seeds that are shrunk and printed. */
const shownMax = 5

endWithReader()
if (values.help) say(usage)
else if (values.narrow) process.exitCode = await runNarrow()
else if (values.sabotage) process.exitCode = await runSabotage()
else if (values.seed !== undefined) process.exitCode = await replay(Number(values.seed))
else process.exitCode = await series(Number(values.from), Number(values.seeds))

function diskOf(kind: string | undefined): Pick<HuntedRun, 'disk'> {
  if (kind === undefined) return {}
  const name = (Object.keys(diskModes) as DiskModeName[]).find((known) => known === kind)
  if (name === undefined) throw new Error(`--disk is one of ${Object.keys(diskModes).join(', ')}`)
  return { disk: name }
}

async function series(from: number, count: number): Promise<number> {
  const sum = { seeds: 0, crashes: 0, operations: 0, recovered: 0, duplicates: 0, violations: 0 }
  const startedAt = performance.now()
  const failing: Finding[] = []
  let met: Tally | undefined
  for (let seed = from; seed < from + count; seed++) {
    const result = await mode.run({ seed, ...disk })
    if (result.met !== undefined) (met ??= new Tally()).addAll(result.met)
    sum.seeds++
    sum.crashes += result.crashCount
    sum.operations += result.operationCount
    sum.recovered += result.recoveredCount
    sum.duplicates += result.duplicateCount
    sum.violations += result.findings.length
    const [finding] = result.findings
    if (finding !== undefined) failing.push(finding)
    progress(sum.seeds, count, sum.crashes, failing.length)
  }
  progressEnd()
  const seconds = (performance.now() - startedAt) / 1000
  // Before any output, whose reader may end early.
  process.exitCode = failing.length === 0 ? 0 : 1
  for (const finding of failing.slice(0, shownMax)) await show(finding)
  const summary = {
    ...sum,
    seconds: Math.round(seconds * 10) / 10,
    crashesPerSecond: Math.round(sum.crashes / seconds),
  }
  if (values.json) say(JSON.stringify({ ...summary, ...(met === undefined ? {} : { met: met.counts }) }))
  else {
    for (const [name, count] of Object.entries(met?.counts ?? {})) say(`  ${name}: ${count}`)
    say(
      Object.entries(summary)
        .map(([name, value]) => `${name} ${value}`)
        .join(', '),
    )
  }
  return sum.violations === 0 ? 0 : 1
}

async function show(finding: Finding): Promise<void> {
  const { finding: small, only } = await mode.shrink(finding, disk.disk)
  const replayWith = `${values.disk === undefined ? '' : `--disk '${values.disk}' `}${mode.replay(small)}${only === undefined ? '' : ` --only ${only.join(',')}`}`
  say(
    `${describeViolation(small)}\n    ${small.where}\n    npm run crash -- ${isNarrow ? '--narrow ' : ''}${replayWith}`,
  )
}

async function replay(seed: number): Promise<number> {
  const only = values.only?.split(',').map(Number)
  const result = await mode.run({
    seed,
    ...disk,
    ...(only === undefined ? {} : { only }),
    ...(values.op === undefined || values.op === '0' ? {} : { op: Number(values.op) }),
  })
  for (const finding of result.findings)
    say(
      `${mode.unit} ${finding.op}${finding.secondOp === undefined ? '' : ` then ${finding.secondOp}`}: ${describeViolation(finding)}\n    ${finding.where}`,
    )
  say(
    `${countText(result.operationCount, 'operation')}, ${countText(result.crashCount, 'crash', 'crashes')}, ${countText(result.findings.length, 'violation')}`,
  )
  return result.findings.length === 0 ? 0 : 1
}

/** The same command, of the copy. */
async function runNarrow(): Promise<number> {
  const tool = `${await narrowed(dist)}/tools/crash.js`
  const args = process.argv.slice(2).filter((arg) => arg !== '--narrow')
  return spawnSync(process.execPath, [tool, ...args], { stdio: 'inherit' }).status ?? 1
}

async function runSabotage(): Promise<number> {
  const verdicts = await sabotage(dist, {
    seed: Number(values.from),
    parallel: Math.min(2, availableParallelism()),
    only: values.name === undefined ? [] : [values.name],
    anew: values.anew,
    onVerdict: (verdict) => {
      if (values.json) say(JSON.stringify({ ...verdict, mutation: verdict.mutation.name }))
      else
        say(
          `${verdict.found ? 'found    ' : 'NOT FOUND'} ${verdict.mutation.name.padEnd(32)} ${verdict.oracle} ${verdict.hunt} seed=${verdict.seed} op=${verdict.op} after ${countText(verdict.crashCount, 'crash', 'crashes')}: ${verdict.text.slice(0, 90)}`,
        )
    },
  })
  if (values.anew)
    for (const { mutation, hunt, seed, op } of verdicts)
      say(`  '${mutation.name}': { hunt: '${hunt}', seed: ${seed}${op === 0 ? '' : `, op: ${op}`} },`)
  const missed = verdicts.filter(({ found }) => !found)
  say(`${countText(verdicts.length, 'guarantee')} taken away, ${verdicts.length - missed.length} noticed`)
  return missed.length === 0 ? 0 : 1
}

function progress(done: number, count: number, crashes: number, failing: number): void {
  if (!process.stderr.isTTY || values.json) return
  const width = 30
  const filled = Math.round((done / count) * width)
  process.stderr.write(
    `\r[${'='.repeat(filled)}${' '.repeat(width - filled)}] ${done}/${count} seeds, ${countText(crashes, 'crash', 'crashes')}, ${failing} failing`,
  )
}

function progressEnd(): void {
  if (process.stderr.isTTY && !values.json) process.stderr.write('\n')
}
