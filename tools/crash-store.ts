/** `npm run crash:store`: the promises on three real PostgreSQL servers, and two nodes, against
 * what fails there. Exits 0 when nothing was wrong, 3 where PostgreSQL is not installed. */
import { setTimeout as sleep } from 'node:timers/promises'
import { performance } from 'node:perf_hooks'
import process from 'node:process'
import { below, seededPrng } from '../src/base/prng.js'
import { Cluster } from './crash-store/cluster.js'
import { faults, type Fault } from './crash-store/faults.js'
import type { Verdict } from './crash-store/ledger.js'
import { postgresMissing } from './crash-store/servers.js'
import { saidArguments } from './said-arguments.js'

/** Mail is under way when something fails. */
const trafficMs = 700

const usage = `usage: npm run crash:store -- [--only TEXT …] [--minutes N] [--seed S] [--json]

  --only TEXT   faults whose name has TEXT in it; may be given several times (all, once each)
  --minutes N   faults drawn at random for so long
  --seed S      which are drawn (1)
  --json        the results as JSON
`

interface Result extends Verdict {
  readonly name: string
  readonly wrongs: readonly string[]
}

async function judged(cluster: Cluster, fault: Fault): Promise<Result> {
  await cluster.open(fault.isStore ? 1 : 2)
  let trouble: string | undefined
  await sleep(trafficMs)
  await fault.run(cluster).catch((error: unknown) => (trouble = String(error)))
  const { errors } = cluster.entries
  const verdict = await cluster.close()
  const wrongs = trouble === undefined ? [] : [trouble]
  if (verdict.lostCount > 0) wrongs.push(`${verdict.lostCount} accepted messages were not delivered`)
  if (verdict.lateCount > 0) wrongs.push(`${verdict.lateCount} attempts began in a life that was over`)
  if (fault.isStore && verdict.doubledCount > 0)
    wrongs.push(`${verdict.doubledCount} messages were delivered twice`)
  if (fault.isStore && verdict.takeoverCount > 0) wrongs.push(`a life ended: ${errors.join(', ')}`)
  if (wrongs.length > 0) wrongs.push(`its ledger: ${await cluster.keepLedger()}`)
  return { name: fault.name, wrongs, ...verdict }
}

const lineOf = (result: Result): string =>
  `${result.wrongs.length === 0 ? 'ok   ' : 'WRONG'} ${result.name}: ${result.acceptedCount} accepted, ` +
  `${result.lostCount} lost, ${result.doubledCount} doubled, ${result.takeoverCount} takeovers, ` +
  `${result.resumedCount} resumes, ${(result.silentMsMax / 1000).toFixed(1)} s without mail` +
  result.wrongs.map((wrong) => `\n      ${wrong}`).join('')

async function main(): Promise<number> {
  const { values } = saidArguments(usage, {
    options: {
      only: { type: 'string', multiple: true, default: [] },
      minutes: { type: 'string', default: '0' },
      seed: { type: 'string', default: '1' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  const minutes = Number(values.minutes)
  const seed = Number(values.seed)
  const chosen = faults.filter(
    ({ name }) => values.only.length === 0 || values.only.some((text) => name.includes(text)),
  )
  if (values.help || !(minutes >= 0) || !Number.isSafeInteger(seed) || chosen.length === 0) {
    process.stderr.write(usage)
    return values.help ? 0 : 2
  }
  const missing = postgresMissing()
  if (missing !== undefined) {
    process.stderr.write(`skipped: ${missing}\n`)
    return 3
  }
  const startedAt = performance.now()
  const cluster = await Cluster.start()
  // Servers and nodes are separate processes: they would outlive an operator’s Ctrl-C.
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void cluster.remove().finally(() => process.exit(1)))
  const results: Result[] = []
  const one = async (fault: Fault): Promise<void> => {
    const result = await judged(cluster, fault)
    results.push(result)
    if (!values.json) process.stdout.write(`${lineOf(result)}\n`)
  }
  try {
    const prng = seededPrng(seed)
    if (minutes === 0) for (const fault of chosen) await one(fault)
    else
      while (performance.now() - startedAt < minutes * 60_000) await one(chosen[below(prng, chosen.length)]!)
  } finally {
    await cluster.remove()
  }
  if (values.json) process.stdout.write(`${JSON.stringify(results)}\n`)
  return results.every(({ wrongs }) => wrongs.length === 0) ? 0 : 1
}

process.exitCode = await main()
