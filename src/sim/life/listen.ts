/** Passes a queue's events to the model in the moment in which they are emitted.
 * Invariant: an event that this life must not emit is a broken promise. */
import { incomingLane } from '../../lane/lane.js'
import type { Queue } from '../../queue.js'
import { codeOf, textOf } from './error-text.js'
import type { Notice } from './notice.js'
import type { Happened } from '../model/model-outcomes.js'
import type { QueueModel } from '../model/queue-model.js'
import type { SimWorld } from '../world/world.js'
import { leastWaitMs, type Workload } from '../workload/workload.js'

/** The part of a queue's life that events need. */
export interface Heard {
  readonly model: QueueModel
  readonly world: SimWorld
  readonly appendedBytes: number
  readonly mayCrash: boolean
  readonly isShortOfRoom: boolean
  readonly mayHold: boolean
  readonly notices: Notice[]
  readonly wentTo: Map<string, number>
  recovered: boolean
  recoveredCount: number
  end(error: unknown): void
}

export function listen(life: Heard, queue: Queue, workload: Workload): void {
  const { model, world } = life
  const told = (happened: Happened): void => {
    model.outcomes.look(queue.consumers().length > 0)
    model.outcomes.recorded(happened, life.appendedBytes)
  }
  for (const kind of ['delivered', 'failed', 'deferred'] as const)
    queue.on(kind, (outcome) => {
      told({ ...outcome, kind })
      const attempts = model.attemptsOf(outcome.id)
      model.recorded(kind, outcome, {
        appendedBytes: life.appendedBytes,
        nowMs: world.nowMs,
        notBeforeMs: attempts === undefined ? 0 : world.clock.wallMs() + leastWaitMs(workload, attempts) - 1,
        attempts: attempts === undefined ? 0 : attempts + 1,
      })
    })
  queue.on('expired', (expired) => {
    told({ kind: 'expired', id: expired.id })
    model.met(expired)
  })
  queue.on('deleted', ({ id }) => told({ kind: 'deleted', id }))
  queue.on('finished', ({ id }) => {
    told({ kind: 'finished', id })
    model.finished(id, life.appendedBytes, workload.lifetimeMs, world.clock.wallMs())
  })
  queue.on('requeued', ({ id, lane }) => life.wentTo.set(model.nameOf(id), lane))
  queue.on('reported', ({ id, report }) => {
    told({ kind: 'reported', id })
    life.wentTo.set(report, incomingLane)
    model.reported(id, report, life.appendedBytes, world.clock.wallMs())
  })
  queue.on('recovered', ({ messageCount, cutBytes }) => {
    if (cutBytes > 0) life.notices.push({ kind: 'cut', bytes: cutBytes })
    life.recovered = true
    life.recoveredCount = messageCount
  })
  queue.on('warning', ({ code, message, id }) => {
    const about = id === undefined ? {} : { message: model.nameOf(id) }
    life.notices.push({ kind: 'warning', code, text: message, ...about })
    if (code === 'MESSAGE_HELD' && id !== undefined && workload.setup.fruitlessRecoveriesMax !== undefined)
      model.heldByQueue(id)
    else if (code === 'DELIVERIES_HELD' || code === 'DELIVERIES_RESUMED') {
      if (!life.mayHold) model.violate('O8', `warning ${code}: ${message}`, { code })
    } else if (code !== 'FILE_SYSTEM' && !life.mayCrash && !(life.isShortOfRoom && code === 'DISK_FULL'))
      model.violate('O8', `warning ${code}: ${message}`, { code, ...about })
  })
  queue.on('crashed', ({ error }) => {
    life.end(error)
    if (error !== undefined && !life.mayCrash)
      model.violate('O8', `the queue crashed by itself: ${textOf(error)}`, { code: codeOf(error) })
  })
}
