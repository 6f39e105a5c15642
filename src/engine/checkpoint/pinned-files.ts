/** All files that a start would need, kept for a backup.
 * Invariant: everything that the journal names up to `journalEnd` can be read until the pin is
 * released or lost. Releases that were under way end before `journalEnd` is read. */
import type { Position } from '../../base/position.js'
import type { BackupPin } from '../life/backup-pins.js'
import type { Life } from '../life/life.js'
import type { Parts } from '../life/parts.js'
import type { Checkpointer } from './checkpointer.js'
import type { Reclaim } from './reclaim.js'

export interface PinnedFiles extends BackupPin {
  /** The copy is that of a crash at this position of the journal. */
  readonly journalEnd: Position
}

interface Releasing {
  readonly reclaim: Reclaim
  readonly checkpointer: Checkpointer
  whenRecovered(): Promise<void>
}

/** @throws WaybillError by rejection: QUEUE_CRASHED; DISK_FULL while recovery waits for room */
export async function pinFiles(
  { backups, life, journal }: Pick<Parts, 'backups' | 'life' | 'journal'>,
  engine: Releasing,
): Promise<PinnedFiles> {
  life.check()
  await life.orEnd(engine.whenRecovered())
  const pin = backups.pin()
  try {
    // 1. Segment 3 is being recycled.
    // 2. The backup finds its name.
    // 3. It is segment 9 when the backup copies it.
    await life.orEnd(engine.reclaim.atRest)
    return { ...pin, journalEnd: journal.durableEnd }
  } catch (error) {
    pin.release()
    throw error
  }
}

/** The last backup has ended: what waited for it is released. */
export function filesFree({ reclaim, checkpointer }: Releasing, life: Life): void {
  if (life.isOver) return
  life.run(reclaim.unpinned())
  checkpointer.wantAgain()
}
