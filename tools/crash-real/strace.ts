/** The n-th system call of a kind fails, for a sweep of n.
 * The life ends or a submission is rejected, no settled mail is lost, and the next life opens. The
 * pool has one thread, so that the n-th call is the same for the tracer. */
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { spawnSync } from 'node:child_process'
import type { Child } from './child.js'
import { missing } from './loop-file-system.js'
import { Session, type CaseResult, type Run } from './session.js'
import { noCounts, type Violation } from './verdict.js'

export interface Failure {
  readonly call: string
  readonly errno: 'EIO' | 'ENOSPC'
}

/** Architectures lack some of these; `?` lets strace pass over them. */
export const failures: readonly Failure[] = [
  { call: 'fdatasync', errno: 'EIO' },
  { call: 'fsync', errno: 'EIO' },
  { call: 'pwrite64', errno: 'EIO' },
  { call: 'pwrite64', errno: 'ENOSPC' },
  { call: '?rename,?renameat,?renameat2', errno: 'EIO' },
  { call: '?unlink,?unlinkat', errno: 'EIO' },
]
const batchCount = 100
const lifeMsMax = 20_000
/** A failure in the last moments of a life that ends anyway is not noticed. */
const noticeMsMax = 250

type Seen = 'ended' | 'rejected' | 'waited' | 'not reached'

export async function failingCalls(run: Run, chosen: readonly Failure[] = failures): Promise<CaseResult[]> {
  const skipped = cannotTrace()
  const results: CaseResult[] = []
  for (const failure of chosen) {
    const name = `${nameOf(failure)} ${failure.errno}`
    if (skipped !== undefined)
      results.push({ part: 'strace', name, skipped, cycles: 0, violations: [], notes: '' })
    else {
      results.push(await atWork(run, failure, name))
      results.push(await atBirth(run, failure, `${name}, new queue`))
    }
  }
  return results
}

const nameOf = ({ call }: Failure): string => call.replace(/^\?/, '').replace(/,.*/, '')

function cannotTrace(): string | undefined {
  const absent = missing('strace')
  if (absent !== undefined) return absent
  const { status, stderr } = spawnSync('strace', ['-f', '--seccomp-bpf', '-o', '/dev/null', 'true'], {
    encoding: 'utf8',
  })
  return status === 0 ? undefined : `strace: ${stderr.trim().split('\n')[0] ?? ''}`
}

/** Every life goes on with the queue that the last one left. */
async function atWork(run: Run, failure: Failure, name: string): Promise<CaseResult> {
  const { directory, remove } = place(run)
  const session = new Session(run, join(directory, 'queue'))
  const made = session.start({ mode: 'batch', messageCount: batchCount })
  await made.gone
  const seen: Seen[] = []
  for (let cycle = 0; cycle < run.cycles; cycle++) {
    // Dense at first, where the recovery is.
    const nth = Math.ceil((cycle + 1) ** 1.2)
    run.progress(`strace ${name} ${nth}`)
    seen.push(await life(session, failure, nth, directory))
  }
  await session.judge()
  remove()
  return session.result('strace', name, run.cycles, tally(seen))
}

/** Every life begins with an empty directory. */
async function atBirth(run: Run, failure: Failure, name: string): Promise<CaseResult> {
  const { directory, remove } = place(run)
  const seen: Seen[] = []
  const counts = noCounts()
  const violations: Violation[] = []
  const cycles = Math.ceil(run.cycles / 2)
  for (let cycle = 0; cycle < cycles; cycle++) {
    run.progress(`strace ${name} ${cycle + 1}`)
    const session = new Session(run, join(directory, `queue-${cycle}`))
    seen.push(await life(session, failure, cycle + 1, directory))
    await session.judge()
    for (const key of Object.keys(counts) as (keyof typeof counts)[])
      counts[key] += session.ledger.counts[key]
    violations.push(...session.ledger.violations)
  }
  remove()
  return { part: 'strace', name, cycles, counts, violations, notes: tally(seen) }
}

function place(run: Run): { readonly directory: string; readonly remove: () => void } {
  const directory = mkdtempSync(join(tmpdir(), 'waybill-strace-'))
  return { directory, remove: run.undo.directory(directory) }
}

async function life(session: Session, failure: Failure, nth: number, directory: string): Promise<Seen> {
  const { call, errno } = failure
  const log = join(directory, 'strace.log')
  const child = session.start(
    { mode: 'batch', messageCount: batchCount, producerCount: 4 },
    {
      prefix: [...tracer(log), '-e', `trace=${call}`, '-e', `inject=${call}:error=${errno}:when=${nth}`],
      environment: { UV_THREADPOOL_SIZE: '1', UV_USE_IO_URING: '0' },
    },
  )
  session.ledger.deviceFails()
  if (!(await child.until(() => child.isGone, lifeMsMax)) && !child.isGone) {
    session.ledger.blame('life', `${nth}th ${nameOf(failure)} ${errno}: it neither ended nor answered`)
    child.kill()
  }
  const ending = await child.gone
  return seenIn(session, child, failure, nth, ending, injectedIn(log))
}

const tracer = (log: string): readonly string[] => [
  'strace',
  '-f',
  '--seccomp-bpf',
  '-q',
  '-ttt',
  '-y',
  '-o',
  log,
]

interface Injected {
  /** The call, as strace shows it. */
  readonly line: string
  /** From its failure to the end of the process. */
  readonly beforeEndMs: number
}

function injectedIn(log: string): Injected | undefined {
  const lines = readFileSync(log, 'utf8').trim().split('\n')
  const line = lines.find((text) => text.includes('(INJECTED)'))
  const timeMs = (text = ''): number => Number(text.split(/ +/)[1]) * 1000
  return line === undefined ? undefined : { line, beforeEndMs: timeMs(lines.at(-1)) - timeMs(line) }
}

function seenIn(
  session: Session,
  child: Child,
  failure: Failure,
  nth: number,
  ending: number | string,
  injected: Injected | undefined,
): Seen {
  const where = `${nth}th ${nameOf(failure)} ${failure.errno}`
  const ended = child.line('crashed') ?? child.line('unopened')
  const isTold = ending === 0 || (ended !== undefined && ended.code !== 'UNKNOWN')
  if (!isTold) session.ledger.blame('life', `${where}: ${ended?.message ?? child.errors}`)
  if (injected === undefined) {
    if (isTold && ending !== 0) session.ledger.blame('life', `${where}, not reached: ${ended?.message ?? ''}`)
    return 'not reached'
  }
  if (ending !== 0) return 'ended'
  if (child.line('rejected') !== undefined) return 'rejected'
  // Waits for room; and the number of the process in the lock is for people only.
  const isHarmless = failure.errno === 'ENOSPC' || /\/lock>/.test(injected.line)
  if (!isHarmless && injected.beforeEndMs > noticeMsMax)
    session.ledger.blame('life', `${where} went unnoticed: ${injected.line}`)
  return 'waited'
}

function tally(seen: readonly Seen[]): string {
  const counted = new Map<Seen, number>()
  for (const kind of seen) counted.set(kind, (counted.get(kind) ?? 0) + 1)
  return Array.from(counted, ([kind, count]) => `${count} ${kind}`).join(', ')
}
