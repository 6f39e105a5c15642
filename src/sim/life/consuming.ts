/** A consumer of outcomes, in each life of a run under the same name.
 * Invariant: it takes its time with each outcome, so that crashes come before it is done. */
import type { Queue } from '../../queue.js'
import { below, type Prng } from '../../base/prng.js'
import { codeOf, textOf } from './error-text.js'
import type { QueueModel } from '../model/queue-model.js'
import type { SimWorld } from '../world/world.js'

const consumerName = 'hunt'

/** The part of a queue's life that a consumer needs. */
interface Consumed {
  readonly model: QueueModel
  readonly world: SimWorld
  readonly ended: object | undefined
  noteDurable(): void
  mayAnswer(error: unknown): boolean
}

const pauseMsMax = 4
/** When it comes: attempts may be under way. */
const joinMs = 3

export async function consume(life: Consumed, queue: Queue, prng: Prng): Promise<void> {
  const { model, world } = life
  const { outcomes } = model
  outcomes.opened(queue.consumers().length > 0, model.violate)
  await pause(life, joinMs)
  try {
    for await (const item of queue.outcomes({ consumer: consumerName })) {
      life.noteDurable()
      outcomes.gave(item, model.violate)
      await pause(life, below(prng, pauseMsMax))
      outcomes.done(item)
    }
  } catch (error) {
    if (life.ended === undefined && !world.stopped && !life.mayAnswer(error))
      model.violate('O8', `outcomes cannot be consumed: ${textOf(error)}`, { code: codeOf(error) })
  }
}

const pause = ({ world }: Consumed, ms: number): Promise<void> =>
  new Promise((resolve) => world.clock.after(ms, resolve))
