/** SIGKILL under load, again and again, at any moment of a life: before it is open, while it
 * recovers, at work. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { below } from '../../src/base/prng.js'
import { Session, type CaseResult, type Run } from './session.js'

const unopenedMsMax = 400
const lifeMsMax = 600

export async function killLoop(run: Run): Promise<CaseResult[]> {
  const directory = mkdtempSync(join(tmpdir(), 'waybill-kill-'))
  const remove = run.undo.directory(directory)
  const session = new Session(run, join(directory, 'queue'))
  const { ledger, prng } = session
  for (let cycle = 0; cycle < run.cycles; cycle++) {
    run.progress(`kill ${cycle + 1}/${run.cycles}`)
    const child = session.start({ messageCount: 2000 })
    if (cycle % 4 === 3) await sleep(below(prng, unopenedMsMax))
    else if (await session.opened(child)) await sleep(below(prng, lifeMsMax))
    if (child.isGone)
      ledger.blame('life', `it ended by itself: ${child.line('crashed')?.message ?? child.errors}`)
    child.kill()
    await child.gone
  }
  await session.judge()
  remove()
  return [session.result('kill', 'SIGKILL', run.cycles)]
}
