/** Recycles what a durable checkpoint made garbage, and tries again where a full disk left no
 * room. */
import type { Timer } from '../../base/clock.js'
import { ignoreFullDisk } from '../../disk/failure.js'
import { journalLog } from '../../log/journal-writer.js'
import type { Captured } from './capture.js'
import { dataLog, envelopesLog, sideLogNumbers } from '../../directory/log-files.js'
import { laneDirectory, sideLogNames } from '../../directory/paths.js'
import type { Lane } from '../../lane/lane.js'
import type { LaneLog } from '../../log/lane-log.js'
import type { Checkpoint } from '../../record/checkpoint.js'
import type { Parts } from '../life/parts.js'

/** While the disk is full, room is tried for this often. */
const retryMs = 1000

/** Of a log that checkpoints sync: of a lane, or of keys. */
interface LaneGarbage {
  readonly log: LaneLog
  readonly number: number
  readonly indexes: readonly number[]
}

export interface GarbageSegments {
  readonly ofJournal: readonly number[]
  readonly ofLanes: readonly LaneGarbage[]
  readonly retired: readonly Lane[]
}

/** A log of a lane: no reader needs its segments below the index `floor`. */
interface LaneFloor {
  readonly log: LaneLog
  readonly number: number
  readonly floor: number
}

/** The floors of all lanes with separate logs, by a durable checkpoint. */
export function* laneFloors({ lanes }: Pick<Parts, 'lanes'>, checkpoint: Checkpoint): Iterable<LaneFloor> {
  for (const { lane, runner, dataFloor } of checkpoint.lanes) {
    const { logs, isDataHeld } = lanes.get(lane)
    if (logs === undefined) continue
    const { envelopes, data } = logs
    yield { log: envelopes, number: envelopesLog(lane), floor: envelopes.files.grid.indexOf(runner) }
    yield { log: data, number: dataLog(lane), floor: isDataHeld ? 0 : data.files.grid.indexOf(dataFloor) }
  }
}

export const isNothing = ({ ofJournal, ofLanes, retired }: GarbageSegments): boolean =>
  ofJournal.length === 0 && retired.length === 0 && ofLanes.every(({ indexes }) => indexes.length === 0)

export class Reclaim {
  readonly #parts: Parts
  readonly #waiting: (() => void)[] = []
  #retry: Timer | undefined
  /** Garbage that a backup may be copying. */
  readonly #pinned: GarbageSegments[] = []
  /** Lanes in it, and behind it those that the next checkpoint removes. They are retired once. */
  readonly #leaving = new Set<Lane>()
  #underWay: Promise<void> = Promise.resolve()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Waits until there may be room. The caller checks again, in the step in which it appends. */
  async roomChange(): Promise<void> {
    await new Promise<void>((look) => this.#waiting.push(look))
    this.#parts.life.check()
  }

  /** A recovery or a checkpoint waits for room, and the disk is full. */
  get isWaitedFor(): boolean {
    return this.#waiting.length > 0 && this.isFull
  }

  /** Room may have come. While the disk is full it is tried for again and again. */
  roomChanged(): void {
    for (const look of this.#waiting.splice(0)) look()
    this.#parts.outcomes.wake()
    if (this.isFull) this.retry()
  }

  /** The disk is full somewhere: room is tried for after a while. */
  retry(): void {
    const { journal, lanes, life, keys, outcomes, options } = this.#parts
    outcomes.wake()
    if (this.#retry !== undefined || life.isOver) return
    this.#retry = options.clock.after(retryMs, () => {
      this.#retry = undefined
      life.run(journal.refill())
      for (const { log } of [keys, outcomes]) if (log?.diskFull === true) log.extend()
      for (const { logs, isRetired } of lanes) {
        // Its directories go with it.
        if (isRetired) continue
        if (logs?.envelopes.diskFull === true) logs.envelopes.extend()
        if (logs?.data.diskFull === true) logs.data.extend()
      }
    })
  }

  /** The last attempt to make room somewhere met a full disk. */
  get isFull(): boolean {
    const { journal, lanes, keys } = this.#parts
    if (journal.spares.diskFull || keys.log?.diskFull === true) return true
    return [...lanes].some(({ logs }) => logs?.envelopes.diskFull === true || logs?.data.diskFull === true)
  }

  /** What a checkpoint that is durable no longer needs. It is nobody's from now on: the caller has
   * to release it. */
  confirm({ checkpoint, pins, journalFloor, retired }: Captured): GarbageSegments {
    const { journal, garbage } = this.#parts
    const confirmed = (log: number, floor: number): readonly number[] =>
      garbage.of(log).confirm(pins.get(log) ?? [], floor)
    const ofJournal = confirmed(journalLog, journal.grid.indexOf(journalFloor))
    const ofLanes: LaneGarbage[] = []
    for (const { log, number, floor } of laneFloors(this.#parts, checkpoint))
      ofLanes.push({ log, number, indexes: confirmed(number, floor) })
    for (const name of sideLogNames) {
      const { log } = this.#parts[name]
      const positions = checkpoint[name]
      if (log === undefined || positions === undefined) continue
      const number = sideLogNumbers[name]
      ofLanes.push({ log, number, indexes: confirmed(number, log.files.grid.indexOf(positions.floor)) })
    }
    return { ofJournal, ofLanes, retired: retired.filter((lane) => !this.#leaving.has(lane)) }
  }

  /** Releases it; what a backup pins is released behind that. */
  async reclaim(garbage: GarbageSegments): Promise<void> {
    if (this.#parts.backups.isPinned) {
      if (!isNothing(garbage)) this.#pinned.push(garbage)
      for (const lane of garbage.retired) this.#leaving.add(lane)
      return this.#parts.journal.refill()
    }
    const retired = [...this.#leaving, ...garbage.retired]
    this.#leaving.clear()
    return this.#inTurn({ ...garbage, retired })
  }

  /** One after the other: two would give a file its next name together. */
  #inTurn(garbage: GarbageSegments): Promise<void> {
    this.#underWay = this.#underWay.then(() => this.#release(garbage))
    return this.#underWay
  }

  /** Settles when nothing is being released: behind a pin, for as long as it is there. */
  get atRest(): Promise<void> {
    return this.#underWay
  }

  /** No backup pins anything. Lanes leave behind the next checkpoint: it may be syncing them
   * now. */
  async unpinned(): Promise<void> {
    const waiting = this.#pinned.splice(0)
    // Each has its turn before a checkpoint removes a lane of which it has segments.
    await Promise.all(waiting.map((garbage) => this.#inTurn({ ...garbage, retired: [] })))
  }

  async #release({ ofJournal, ofLanes, retired }: GarbageSegments): Promise<void> {
    await this.#parts.journal.forget(ofJournal)
    for (const { log, number, indexes } of ofLanes)
      for (const index of indexes)
        await log.forget(index).catch((error: unknown) => {
          ignoreFullDisk(error)
          // It is garbage for the next checkpoint, too.
          this.#parts.garbage.of(number).add(index)
        })
    for (const lane of retired)
      // No checkpoint names it any more: the next start takes away what there is of it.
      await this.#remove(lane).catch(ignoreFullDisk)
  }

  stop(): void {
    this.#retry?.cancel()
    this.roomChanged()
  }

  /** The lane left the table: its number is never given again. */
  async #remove(lane: Lane): Promise<void> {
    const { lanes, garbage, options } = this.#parts
    lanes.remove(lane)
    if (lane.logs === undefined) return
    await lane.logs.envelopes.close()
    await lane.logs.data.close()
    for (const index of garbage.of(envelopesLog(lane.number)).confirm([], Infinity))
      await lane.logs.envelopes.forget(index)
    for (const index of garbage.of(dataLog(lane.number)).confirm([], Infinity))
      await lane.logs.data.forget(index)
    garbage.drop(envelopesLog(lane.number))
    garbage.drop(dataLog(lane.number))
    for (const name of ['envelopes', 'data'])
      await options.disk.removeDirectory(`${laneDirectory(lane.number)}/${name}`)
    await options.disk.removeDirectory(laneDirectory(lane.number))
  }
}
