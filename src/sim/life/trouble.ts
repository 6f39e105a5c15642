/** The machine's trouble in a life: failing calls, dropped pages, a full disk, a clock that is set.
 * Invariant: only real trouble is noted here, not planned trouble. */
import type { Callers } from './callers.js'
import type { Fault } from '../disk/faults.js'
import type { Moments } from '../world/moment.js'
import type { Operation } from '../disk/operation.js'
import type { QueueModel } from '../model/queue-model.js'
import type { SimDisk } from '../disk/sim-disk.js'
import type { Shortage, Spell, WallStep, Workload } from '../workload/workload.js'
import type { SimWorld } from '../world/world.js'

export type Phase = 'opening' | 'recovering' | 'running'

export interface FailedCall {
  readonly operation: Operation
  readonly fault: Fault
  readonly phase: Phase
}

export type Trouble = 'pages dropped' | 'no room' | 'room again' | 'clock set' | 'disk hung' | 'in doubt'

/** The part of a queue's life that trouble needs. */
export interface Troubled {
  readonly model: QueueModel
  readonly world: SimWorld
  readonly moments: Moments
  readonly disk: SimDisk
  readonly callers: Pick<Callers, 'drain'>
  readonly phase: Phase
}

export class Troubles {
  readonly failedCalls: FailedCall[] = []
  readonly others: Trouble[] = []
  readonly #life: Troubled

  constructor(life: Troubled) {
    this.#life = life
  }

  /** The device has failed, or its reads have changed. */
  get hasFailed(): boolean {
    return this.failedCalls.length > 0 || this.others.includes('pages dropped')
  }

  plan({ wallSteps = [], drops = [], hangs = [], doubts = [], shortage, drain, lifetimeMs }: Workload): void {
    const { moments } = this.#life
    if (drain !== undefined) moments.at(drain, () => this.#life.callers.drain())
    for (const hang of hangs) moments.at(hang.from, () => this.#hang(hang))
    for (const doubt of doubts) moments.at(doubt.from, () => this.#doubt(doubt))
    for (const step of wallSteps) moments.at(step.at, () => this.#stepWall(step, lifetimeMs))
    for (const drop of drops) moments.at(drop, () => this.#drop())
    // A synced write that finds no room ends the life where no segment is filled ahead.
    if (shortage !== undefined && this.#life.disk.traits.fillsAhead)
      moments.at(shortage.from, () => this.#fallShort(shortage))
  }

  /** A call meets a fault. */
  failed(operation: Operation, fault: Fault): void {
    this.failedCalls.push({ operation, fault, phase: this.#life.phase })
  }

  #drop(): void {
    if (this.#life.disk.image.dropClean()) this.others.push('pages dropped')
  }

  #hang({ forMs }: Spell): void {
    this.#life.disk.hang(forMs)
    this.others.push('disk hung')
  }

  #doubt({ forMs }: Spell): void {
    const { disk, world } = this.#life
    disk.lease.prove(false)
    this.others.push('in doubt')
    world.clock.after(forMs, () => disk.lease.prove(true))
  }

  #fallShort({ roomBytes, forMs }: Shortage): void {
    const { disk, world, model } = this.#life
    disk.image.leave(roomBytes)
    this.others.push('no room')
    if (forMs === Infinity) return
    world.clock.after(forMs, () => {
      disk.image.leave(Infinity)
      model.roomCame()
      this.others.push('room again')
    })
  }

  #stepWall({ byMs }: WallStep, lifetimeMs: number): void {
    const { model, world } = this.#life
    model.clockStepped(byMs, world.clock.wallMs(), lifetimeMs)
    world.clock.stepWall(byMs)
    this.others.push('clock set')
  }
}
