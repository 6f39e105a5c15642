/** Power cuts: a live file system drops everything that is not on its disk, and the queue recovers.
 * The control runs without syncs and must lose mail: a test that cannot fail proves nothing. */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { below } from '../../src/base/prng.js'
import { cannotMount, LoopFileSystem, missing, type FileSystemKind } from './loop-file-system.js'
import { syncless } from './syncless.js'
import { Session, type CaseResult, type Run } from './session.js'

const mebibytes: Readonly<Record<FileSystemKind, number>> = { ext4: 128, xfs: 320 }
const lifeMsMax = 700
/** A life must notice by itself, and not settle anything meanwhile, that its device is gone. */
const noticeMsMax = 5000
const controlSettledCount = 50

export async function powerCuts(
  run: Run,
  kinds: readonly FileSystemKind[] = ['ext4', 'xfs'],
): Promise<CaseResult[]> {
  const results: CaseResult[] = []
  for (const kind of kinds) {
    const skipped = missing('xfs_io') ?? cannotMount(kind, run.undo)
    if (skipped !== undefined)
      results.push(skippedCase(kind, skipped), skippedCase(`${kind} control`, skipped))
    else results.push(await cuts(run, kind), await control(run, kind))
  }
  return results
}

const skippedCase = (name: string, skipped: string): CaseResult => ({
  part: 'power',
  name,
  skipped,
  cycles: 0,
  violations: [],
  notes: '',
})

async function cuts(run: Run, kind: FileSystemKind): Promise<CaseResult> {
  const fileSystem = new LoopFileSystem(kind, mebibytes[kind], run.undo)
  const session = new Session(run, join(fileSystem.mountPoint, 'queue'))
  const { ledger, prng } = session
  let cutBytes = 0
  for (let cycle = 0; cycle < run.cycles; cycle++) {
    run.progress(`power ${kind} ${cycle + 1}/${run.cycles}`)
    const child = session.start({ messageCount: 100_000 })
    if (await session.opened(child)) await sleep(below(prng, lifeMsMax))
    if (child.isGone)
      ledger.blame('life', `it ended by itself: ${child.line('crashed')?.message ?? child.errors}`)
    ledger.deviceFails()
    fileSystem.cutPower()
    if (!(await child.until(() => child.isGone, noticeMsMax)) && !child.isGone)
      ledger.blame('life', `it lived on for ${noticeMsMax} ms without its device`)
    child.kill()
    await child.gone
    cutBytes += child.line('recovered')?.cutBytes ?? 0
    fileSystem.remount()
  }
  await session.judge()
  fileSystem.remove()
  return session.result('power', kind, run.cycles, `${cutBytes} torn bytes cut`)
}

/** One life whose syncs do nothing, and one cut. Mail must be lost. */
async function control(run: Run, kind: FileSystemKind): Promise<CaseResult> {
  const name = `${kind} control`
  const shim = syncless(run.undo)
  if ('skipped' in shim) return skippedCase(name, shim.skipped)
  run.progress(`power ${name}`)
  const fileSystem = new LoopFileSystem(kind, mebibytes[kind], run.undo)
  const session = new Session(run, join(fileSystem.mountPoint, 'queue'))
  const child = session.start({ messageCount: 100_000 }, { environment: { LD_PRELOAD: shim.library } })
  await child.until(() => session.ledger.counts.settled >= controlSettledCount, noticeMsMax)
  session.ledger.deviceFails()
  fileSystem.cutPower()
  child.kill()
  await child.gone
  fileSystem.remount()
  await session.judge()
  fileSystem.remove()
  const found = session.ledger.violations.filter((violation) => violation.kind === 'lost')
  const unnoticed = {
    kind: 'life',
    what: 'mail that was never synced survived: the cut cuts nothing',
  } as const
  return {
    ...session.result('power', name, 1, `${found.length} losses found, as it should be`),
    violations: found.length > 0 ? [] : [unnoticed],
  }
}
