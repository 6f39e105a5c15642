/** A file system that is too small.
 * New mail is refused with DISK_FULL, accepted mail goes on, deferred mail without room in a lane
 * stays active. A kill in this state is survived. When there is room again, mail is accepted again.
 * No mail is lost. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Child } from './child.js'
import { cannotMount, LoopFileSystem } from './loop-file-system.js'
import { Session, type CaseResult, type Run } from './session.js'

export interface Scene {
  readonly name: string
  /** The mail that fills the disk: delivered for ever, or deferred again and again. */
  readonly gate: 'hangs' | 'defers'
  /** A foreign file, removed when the gate opens. */
  readonly ballastMebibytes: number
  /** New mail is refused below this: 0 tests the state below the floor. */
  readonly freeBytesMin: number
  /** Is the life in which the disk became full killed? */
  readonly killed: boolean
}

const mebibyte = 1024 * 1024

export const scenes: readonly Scene[] = [
  { name: 'slow world', gate: 'hangs', ballastMebibytes: 0, freeBytesMin: 0, killed: false },
  { name: 'slow world, killed', gate: 'hangs', ballastMebibytes: 0, freeBytesMin: 0, killed: true },
  {
    name: 'deferring world, room is made',
    gate: 'defers',
    ballastMebibytes: 8,
    freeBytesMin: 0,
    killed: false,
  },
  {
    name: 'deferring world, killed, room is made',
    gate: 'defers',
    ballastMebibytes: 8,
    freeBytesMin: 0,
    killed: true,
  },
  {
    name: 'deferring world, a floor',
    gate: 'defers',
    ballastMebibytes: 0,
    freeBytesMin: 4 * mebibyte,
    killed: false,
  },
]

/** Of the file system, the ballast apart. */
const mebibytes = 24
const rejectionsWanted = 20
const settledWanted = 50
const fillMsMax = 60_000
const returnMsMax = 30_000
/** Several retry intervals. */
const fullMs = 1500

export async function diskFull(run: Run, chosen: readonly Scene[] = scenes): Promise<CaseResult[]> {
  const skipped = cannotMount('ext4', run.undo)
  const results: CaseResult[] = []
  for (const scene of chosen) {
    run.progress(`full ${scene.name}`)
    if (skipped === undefined) results.push(await fillAndEmpty(run, scene))
    else results.push({ part: 'full', name: scene.name, skipped, cycles: 0, violations: [], notes: '' })
  }
  return results
}

async function fillAndEmpty(
  run: Run,
  { name, gate, ballastMebibytes, freeBytesMin, killed }: Scene,
): Promise<CaseResult> {
  const fileSystem = new LoopFileSystem('ext4', mebibytes + ballastMebibytes, run.undo)
  const ballast = join(fileSystem.mountPoint, 'ballast')
  writeFileSync(ballast, Buffer.alloc(ballastMebibytes * mebibyte))
  const session = new Session(run, join(fileSystem.mountPoint, 'queue'), 'gated')
  const { ledger } = session
  const endless = { messageCount: 1_000_000, gate, freeBytesMin } as const
  let child = session.start(endless)
  await refusing(session, child)
  await sleep(fullMs)
  const activeCount = activeAtLast(child)
  if (activeCount === 0 && freeBytesMin === 0)
    ledger.blame('life', 'nothing is active although there is no room')
  if (killed) {
    child.kill()
    await child.gone
    child = session.start(endless)
    await session.opened(child)
    await sleep(fullMs)
  }
  const delivered = await returns(session, child, () => {
    child.say('open the gate')
    rmSync(ballast)
  })
  child.kill()
  await child.gone
  await session.judge()
  fileSystem.remove()
  const notes = `${activeCount} stayed active; ${delivered} delivered before mail was accepted again`
  return session.result('full', name, killed ? 2 : 1, notes)
}

/** Opens the gate and waits until mail is accepted again. Resolves with the deliveries that were
 * made until then. */
async function returns({ ledger }: Session, child: Child, open: () => void): Promise<number> {
  const { delivered, settled } = ledger.counts
  let deliveredBefore = 0
  const comesBack = (): boolean => {
    if (ledger.counts.settled === settled) deliveredBefore = ledger.counts.delivered - delivered
    return ledger.counts.settled >= settled + settledWanted
  }
  open()
  if (!(await child.until(comesBack, returnMsMax)))
    ledger.blame('life', `mail is still refused: ${ending(child)}`)
  if (ledger.counts.delivered === delivered)
    ledger.blame('life', 'nothing is delivered through the open gate')
  return deliveredBefore
}

/** Active messages when it was last asked with the disk full. */
function activeAtLast({ lines }: Child): number {
  const last = lines.findLast((line) => line.kind === 'statistics' && line.diskFull)
  return last?.kind === 'statistics' ? last.activeCount : 0
}

async function refusing({ ledger }: Session, child: Child): Promise<void> {
  let refusals = 0
  let next = 0
  const isRefusing = (): boolean => {
    for (; next < child.lines.length; next++) {
      const line = child.lines[next]!
      if (line.kind === 'rejected' && line.code === 'DISK_FULL') refusals++
    }
    return refusals >= rejectionsWanted
  }
  if (!(await child.until(isRefusing, fillMsMax)))
    ledger.blame('life', `nothing is refused: ${ending(child)}`)
}

const ending = (child: Child): string => {
  const last = child.line('crashed') ?? child.line('unopened')
  return last?.message ?? (child.isGone ? child.errors : 'it goes on')
}
