/** The destinations and jobs of one transport.
 * Invariant: `open` and `deficit` are the sums of the positive and of the negative contributions of
 * its destinations. Those that could have a delivery and have none stand in a line, which the
 * reserve of processes serves. */
import type { Destination } from './destination.js'
import { Destinations } from './destinations.js'
import type { DeferReason, TransportSnapshot } from './interface.js'
import type { Job } from './job.js'
import type { TransportSettings } from './parameters.js'
import type { SharedBounds } from './shared-bounds.js'
import type { Timer } from './timers.js'

export class Transport {
  readonly name: string
  settings: TransportSettings
  readonly destinations: Destinations = new Destinations()
  /** Those that its destinations share, by key. */
  readonly bounds: Map<string, SharedBounds> = new Map()
  /** Ends of the line of idle destinations for which something waits. */
  firstInLine: Destination | undefined = undefined
  lastInLine: Destination | undefined = undefined
  /** A job is a blocker because a destination that has not answered is held back. */
  holdsBack = false
  /** Ends of the scheduler's order. */
  firstJob: Job | undefined = undefined
  lastJob: Job | undefined = undefined
  /** Ends of the order of time. */
  oldestJob: Job | undefined = undefined
  youngestJob: Job | undefined = undefined
  /** Where selection begins: the job last selected from. */
  currentJob: Job | undefined = undefined
  /** Odd; raised by 2 to release all blockers at once. */
  blockerTag = 1
  /** The candidate found last, with its current job and second; undefined = there was none. */
  candidate: Job | undefined = undefined
  candidateFor: Job | undefined = undefined
  candidateSecond = 0
  /** While this job is the current one, no other that could be a candidate needs fewer entries than
   * `neededFloor`. */
  floorFor: Job | undefined = undefined
  neededFloor = 0
  /** Searches for a candidate, and the jobs that they looked at. */
  scanCount = 0
  scannedJobs = 0
  /** The first job in time whose message is not wholly read. */
  firstUnread: Job | undefined = undefined
  unusedSlots: number
  /** Why it is dead; undefined = it lives. */
  dead: DeferReason | undefined = undefined
  timer: Timer | undefined = undefined
  /** Deliveries asked for with `Scheduler.request` that have not selected their entry yet. */
  pending = 0
  busy = 0
  open = 0
  /** Not negative: the sum of what overfull destinations have under way beyond their windows. */
  deficit = 0

  constructor(name: string, settings: TransportSettings) {
    this.name = name
    this.settings = settings
    this.unusedSlots = settings.recipientLimit
  }

  snapshot(): TransportSnapshot {
    const { name, busy, settings, open } = this
    const { processLimit } = settings
    return { transport: name, busy, processLimit, delayedCount: this.isFull ? open : 0 }
  }

  /** Nothing more can begin, but what the reserve keeps for idle destinations. */
  get isFull(): boolean {
    return this.busy >= this.settings.openProcessLimit
  }

  /** Only the reserve of processes is left. */
  get isReserved(): boolean {
    const { openProcessLimit, processLimit } = this.settings
    return openProcessLimit < processLimit && this.busy >= openProcessLimit
  }

  /** There is an entry to select and a process for it. */
  get isSelectable(): boolean {
    if (this.dead !== undefined || this.busy >= this.settings.processLimit) return false
    if (!this.isReserved) return this.hasOpen(1)
    return this.firstInLine !== undefined && this.hasOpen(1) && this.firstIdle !== undefined
  }

  /** The destination that has been idle longest and may have a delivery. */
  get firstIdle(): Destination | undefined {
    let idle = this.firstInLine
    while (idle?.bounds?.hasRoom === false) idle = idle.lineNext
    return idle
  }

  /** Puts a destination at the end of the line, or takes it out. */
  line(destination: Destination, enters: boolean): void {
    destination.isInLine = enters
    if (enters) {
      destination.linePrevious = this.lastInLine
      if (this.lastInLine === undefined) this.firstInLine = destination
      else this.lastInLine.lineNext = destination
      this.lastInLine = destination
      return
    }
    const { linePrevious, lineNext } = destination
    if (linePrevious === undefined) this.firstInLine = lineNext
    else linePrevious.lineNext = lineNext
    if (lineNext === undefined) this.lastInLine = linePrevious
    else lineNext.linePrevious = linePrevious
    destination.linePrevious = destination.lineNext = undefined
  }

  /** Selection begins at the head again: a job that was passed can be selected from. */
  selectAnew(): void {
    this.currentJob = this.firstJob
    this.forgetCandidate()
    this.floorFor = undefined
  }

  forgetCandidate(): void {
    this.candidateFor = undefined
  }

  /** Whether some first part of the destinations, in the order of creation, has `need` entries more
   * to select than it lacks. Cost: one step per kind of bounds, unless the shortfall of
   * overfull destinations makes the order matter; then one step per destination. */
  hasOpen(need: number): boolean {
    let { open, deficit } = this
    if (this.bounds.size > 0)
      for (const bounds of this.bounds.values()) {
        if (!bounds.hasRoom) continue
        open += bounds.open
        deficit += bounds.deficit
      }
    if (open < need) return false
    if (open - deficit >= need) return true
    let sum = 0
    for (let d = this.destinations.first; d !== undefined; d = d.newer) {
      if (d.bounds?.hasRoom === false) continue
      sum += d.contribution
      if (sum >= need) return true
    }
    return false
  }
}
