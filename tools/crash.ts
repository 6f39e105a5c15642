/** `npm run crash`: seeded crash runs of the whole engine, replays, and sabotage. */
import { spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { countText } from '../src/base/text.js'
import { diskModes, type DiskModeName } from '../src/sim/disk/disk-mode.js'
import type { Finding } from '../src/sim/hunt/exhaustive.js'
import { describeViolation } from '../src/sim/model/violation.js'
import { endWithReader } from './commands/text/output.js'
import { modeNames, modes, type HuntedRun } from './crash/modes.js'
import { narrowed } from './crash/narrowing.js'
import { sabotage } from './crash/sabotage.js'
import { series, type SeriesSum } from './crash/series.js'
import { refuseArguments, saidArguments } from './said-arguments.js'

const usage = `npm run crash -- [--seeds N] [--from S] [--json]    N seeded runs, from seed S on, on all cores
npm run crash -- --minutes N [--from S]              the same for N minutes; Ctrl-C ends it sooner, with the sum so far
npm run crash -- --cores N …                         at most N threads
npm run crash -- --seed S [--op N] [--only 0,2]      one run again; only the crash before operation N; only these messages
npm run crash -- --exhaustive …                      a crash before each operation of a small workload, another one each seed
npm run crash -- --rot …                             the same, with a bit turned over in what each crash left
npm run crash -- --torture [--seeds N] [--from S]    the same of chains of lives in which calls fail, too; says how much of what was met
npm run crash -- --torture --seed S [--only 0,2]     one chain again; only these pieces
npm run crash -- --nodes [--seeds N] [--from S]      nodes on one store: deaths, pauses, cuts, failovers, lost and late answers
npm run crash -- --failover [--seeds N] [--from S]   one node, and only the database fails: nothing twice, and no life ends
npm run crash -- --disk KIND …                       any of these on "fresh segments" (neither filled nor used again) or a "store" (atomic calls)
npm run crash -- --narrow …                          any of these in a copy of the build whose windows and bounds are small
npm run crash -- --sabotage [--name X] [--json]      takes guarantees away, one at a time; each must be noticed
npm run crash -- --sabotage --anew                   the same by whole hunts; prints the clues for the next time`

const { values } = saidArguments(usage, {
  options: {
    seeds: { type: 'string' },
    minutes: { type: 'string' },
    cores: { type: 'string', default: `${availableParallelism()}` },
    from: { type: 'string' },
    seed: { type: 'string' },
    op: { type: 'string' },
    only: { type: 'string' },
    name: { type: 'string' },
    exhaustive: { type: 'boolean', default: false },
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
const modeName = modeNames.find((name) => name !== 'random' && values[name]) ?? 'random'
const mode = modes[modeName]

const from = numberOf('from', 0) ?? 1
const seed = numberOf('seed', 0)
const op = numberOf('op', 0)
checkTogether()

const say = (line: string): void => void process.stdout.write(`${line}\n`)

/** The exit code of a process that Ctrl-C has ended. */
const interruptedCode = 130

/** Failing seeds that are shrunk and printed. */
const shownMax = 5

endWithReader()
if (values.help) say(usage)
else if (values.narrow) process.exitCode = await runNarrow()
else if (values.sabotage) process.exitCode = await runSabotage()
else if (seed !== undefined) process.exitCode = await replay(seed)
else process.exitCode = await hunted()

function diskOf(kind: string | undefined): Pick<HuntedRun, 'disk'> {
  if (kind === undefined) return {}
  const name = (Object.keys(diskModes) as DiskModeName[]).find((known) => known === kind)
  if (name === undefined) refuseArguments(usage, `--disk is one of ${Object.keys(diskModes).join(', ')}`)
  return { disk: name }
}

/** Option `name`, a number of at least `min`, and a whole one except for minutes. */
function numberOf(
  name: 'seeds' | 'from' | 'minutes' | 'cores' | 'seed' | 'op',
  min: number,
): number | undefined {
  const text = values[name]
  if (text === undefined) return undefined
  const number = Number(text)
  const isOne = name === 'minutes' ? Number.isFinite(number) : Number.isSafeInteger(number)
  if (text.trim() === '' || !isOne || number < min)
    refuseArguments(usage, `--${name} is no ${name === 'minutes' ? '' : 'whole '}number of at least ${min}`)
  return number
}

/** One seed is run again, or many are drawn. */
function checkTogether(): void {
  const ofMany = (['seeds', 'from', 'minutes'] as const).find((name) => values[name] !== undefined)
  if (seed !== undefined && ofMany !== undefined)
    refuseArguments(usage, `--seed runs one again: no --${ofMany} goes with it`)
  const ofOne = (['op', 'only'] as const).find((name) => values[name] !== undefined)
  if (seed === undefined && ofOne !== undefined) refuseArguments(usage, `--${ofOne} goes with --seed`)
}

async function hunted(): Promise<number> {
  const minutes = numberOf('minutes', 0)
  const seedCount = numberOf('seeds', 1) ?? (minutes === undefined ? 200 : Infinity)
  const ends = new AbortController()
  let isInterrupted = false
  // A second Ctrl-C ends the process at once.
  process.once('SIGINT', () => {
    isInterrupted = true
    ends.abort()
  })
  const startedAt = performance.now()
  const timer = minutes === undefined ? undefined : setTimeout(() => ends.abort(), minutes * 60_000)
  const fraction = ({ seeds }: SeriesSum): number =>
    Math.max(
      seeds / seedCount,
      minutes === undefined ? 0 : (performance.now() - startedAt) / 60_000 / minutes,
    )
  const sum = await series({
    mode: modeName,
    from,
    seedCount,
    cores: numberOf('cores', 1)!,
    signal: ends.signal,
    ...disk,
    onSeed: (now) => progress(fraction(now), now),
  })
  clearTimeout(timer)
  progressEnd()
  // Before any output, whose reader may end early.
  process.exitCode = sum.violations > 0 ? 1 : isInterrupted ? interruptedCode : 0
  for (const finding of sum.failing.slice(0, shownMax)) await show(finding)
  tell(sum, (performance.now() - startedAt) / 1000)
  return process.exitCode
}

function tell(sum: SeriesSum, seconds: number): void {
  const { failing: _, met, cpuSeconds, ...counts } = sum
  const summary = { ...counts, seconds: Math.round(seconds * 10) / 10 }
  const cyclesPerCoreSecond = Math.round(sum.cycles / Math.max(cpuSeconds, 0.001))
  const isMet = Object.keys(met.counts).length > 0
  if (values.json) {
    say(
      JSON.stringify({ ...summary, cpuSeconds, cyclesPerCoreSecond, ...(isMet ? { met: met.counts } : {}) }),
    )
    return
  }
  for (const [name, count] of Object.entries(met.counts)) say(`  ${name}: ${count}`)
  say(
    Object.entries(summary)
      .map(([name, value]) => `${name} ${value}`)
      .join(', '),
  )
  say(`${countText(sum.cycles, 'cycle')}, ${countText(cyclesPerCoreSecond, 'cycle')}/s of one core`)
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
  if (only?.some((number) => !Number.isSafeInteger(number)))
    refuseArguments(usage, '--only is whole numbers with commas between them')
  const result = await mode.run({
    seed,
    ...disk,
    ...(only === undefined ? {} : { only }),
    ...(op === undefined || op === 0 ? {} : { op }),
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
    seed: from,
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

function progress(fraction: number, { seeds, crashes, failing }: SeriesSum): void {
  if (!process.stderr.isTTY || values.json) return
  const width = 30
  const filled = Math.round(Math.min(1, fraction) * width)
  process.stderr.write(
    `\r[${'='.repeat(filled)}${' '.repeat(width - filled)}] ${countText(seeds, 'seed')}, ${countText(crashes, 'crash', 'crashes')}, ${failing.length} failing`,
  )
}

function progressEnd(): void {
  if (process.stderr.isTTY && !values.json) process.stderr.write('\n')
}
