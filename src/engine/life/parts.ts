/** The ports and the state that the parts of one life share. Wired once, in beginning.ts. */
import type { ActiveSet } from '../../active/active-set.js'
import type { Garbage } from '../../garbage/pins.js'
import type { Lane } from '../../lane/lane.js'
import type { Lanes } from '../../lane/lanes.js'
import type { Journal } from '../../log/journal.js'
import type { LanePositions } from '../../record/checkpoint.js'
import type { BackupPins } from './backup-pins.js'
import type { KnownKeys } from '../keys/known-keys.js'
import type { Outcomes } from '../outcomes/outcomes.js'
import type { Suspensions } from './suspensions.js'
import type { QueueEmitter } from './events.js'
import type { Life, LifeClock } from './life.js'
import type { Ownership } from './ownership.js'
import type { MessageReader } from '../message/message-reader.js'
import type { EngineOptions } from './options.js'
import type { Spool } from '../message/spool.js'

export interface Parts {
  readonly options: EngineOptions
  readonly life: Life
  readonly clock: LifeClock
  readonly ownership: Ownership
  readonly events: QueueEmitter
  readonly journal: Journal
  readonly lanes: Lanes
  readonly active: ActiveSet
  readonly garbage: Garbage
  readonly spool: Spool
  readonly reader: MessageReader
  readonly keys: KnownKeys
  readonly outcomes: Outcomes
  readonly suspensions: Suspensions
  readonly backups: BackupPins
  readonly laneSegmentBytes: number
  /** Opens the logs of a lane that this life adds. */
  readonly openLane: (positions: LanePositions) => Promise<Lane>
}
