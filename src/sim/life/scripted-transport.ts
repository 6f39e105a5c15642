/** A transport that follows the script in its recipients' addresses, after a drawn delay.
 * Invariant: the model gets every attempt before the answer. Data is read and compared, except when
 * the answer comes at once; a report's data always. */
import { below, type Prng } from '../../base/prng.js'
import type { DeliveryRequest, DeliveryResult, Outcome, Transport } from '../../delivery/transport.js'
import type { Attempt } from '../model/model-attempt.js'
import type { QueueModel } from '../model/queue-model.js'
import { isAsAsked, relayedOf } from '../workload/asked.js'
import { reportNames } from '../model/model-reports.js'
import { scripted } from '../workload/script.js'
import type { SimWorld } from '../world/world.js'

export interface ScriptedOptions {
  readonly world: SimWorld
  readonly model: QueueModel
  readonly prng: Prng
  /** The longest that an answer takes, milliseconds; 0: half of the time at once, without a
   * look at the data. */
  readonly answerMs: number
  /** Called before the model gets an attempt. */
  readonly onAttempt: () => void
  /** The disk's state at this moment. */
  readonly proof: () => Pick<Attempt, 'syncedWriteMs' | 'isProven'>
  /** Nothing is answered before this settles. */
  readonly gate?: Promise<void>
}

export class ScriptedTransport implements Transport {
  readonly #options: ScriptedOptions

  constructor(options: ScriptedOptions) {
    this.#options = options
  }

  deliver(request: DeliveryRequest, _signal: AbortSignal): Promise<DeliveryResult> | DeliveryResult {
    const { world, model, prng, gate, answerMs, onAttempt, proof } = this.#options
    const { id, sender, recipients, attempts, nexthop } = request
    onAttempt()
    const wallMs = world.clock.wallMs()
    const { nowMs } = world
    model.attempted({ id, sender, recipients, attempts, nexthop, wallMs, nowMs, ...proof() })
    if (recipients.some((address) => scripted(address, attempts) === 'fatal')) {
      world.stop()
      return new Promise(() => undefined)
    }
    if (!isAsAsked(request)) model.violate('O1', `what ${sender} asked is not what a transport is told`)
    if (gate === undefined && answerMs === 0 && sender !== '' && below(prng, 2) === 0)
      return this.#answer(request)
    return this.#answerLater(request)
  }

  async #answerLater(request: DeliveryRequest): Promise<DeliveryResult> {
    const { world, model, prng, gate, answerMs } = this.#options
    if (gate !== undefined) await gate
    const data = await request.data()
    const content = Buffer.isBuffer(data) ? data : Buffer.from(data.ref)
    model.data(request.id, content, request.sender === '' ? reportNames(content) : undefined)
    const delayMs = below(prng, answerMs + 1)
    if (delayMs > 0) await new Promise<void>((resolve) => world.clock.after(delayMs, resolve))
    return this.#answer(request)
  }

  #answer({ id, recipients, attempts }: DeliveryRequest): Promise<DeliveryResult> | DeliveryResult {
    const { model } = this.#options
    const outcomes: Outcome[] = []
    for (const address of recipients) {
      const answer = scripted(address, attempts)
      if (answer === 'hang' || answer === 'fatal') return new Promise(() => undefined)
      if (answer === 'throw') throw new Error('the connection broke')
      if (answer === 'site') return { kind: 'site', status: '4.4.1', reason: 'nobody is there' }
      model.answered(id, address, answer === 'delivered')
      const relayed = relayedOf(address)
      const delivered = { kind: 'delivered', response: '250 ok' } as const
      if (answer === 'delivered') outcomes.push(relayed === undefined ? delivered : { ...delivered, relayed })
      else outcomes.push({ kind: answer, status: answer === 'failed' ? '5.1.1' : '4.2.0', reason: answer })
    }
    return outcomes
  }
}
