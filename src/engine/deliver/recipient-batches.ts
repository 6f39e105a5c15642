/** The recipients of active messages, routed and in batches, as the scheduler asks for them.
 * Invariant: every recipient that waits comes in exactly one batch, or is deferred because it has
 * no route, or because its site has to ask for it. Those of a large message are read from its
 * frames when they are needed, and forgotten with their outcome. */
import type { ActiveMessage } from '../../active/active-message.js'
import { comparableDomain } from '../../base/mail-address.js'
import { textOf, safeThrownText } from '../../delivery/outcome.js'
import { isWaybillError } from '../../errors.js'
import type { DeferReason, RecipientBatch, SchedulerRecipient } from '../../scheduler/scheduler.js'
import type { Job } from './job.js'
import type { Parts } from '../life/parts.js'
import { RouteMistakes, routeOf } from '../life/route.js'
import { lookAgainMs, tellTrouble } from '../life/trouble.js'

export interface BatchOutlet {
  /** The batch that `read` could not give at once. */
  supplied(job: Job, batch: RecipientBatch): void
  /** The recipient is deferred without an attempt. */
  putOff(job: Job, index: number, reason: DeferReason): void
}

/** Recipients that are routed and handed to the scheduler in one step: it takes 10 ms. */
const suppliedCountMax = 1000

const nobody: RecipientBatch = { recipients: [], complete: true, unreadCount: 0 }

export class RecipientBatches {
  readonly #parts: Parts
  readonly #outlet: BatchOutlet
  readonly #mistakes: RouteMistakes

  constructor(parts: Parts, outlet: BatchOutlet) {
    this.#parts = parts
    this.#outlet = outlet
    this.#mistakes = new RouteMistakes(parts.events)
  }

  /** The next recipients, routed. Those of a large message are read from its frames first, and
   * supplied later. */
  read(job: Job, countMax: number): RecipientBatch | undefined {
    if (job.addresses !== undefined) {
      this.#parts.life.run(this.#supplyOrWait(job, Math.min(countMax, suppliedCountMax)))
      return undefined
    }
    if (job.message.envelope.recipientCount === 1) return this.#only(job)
    const { recipients } = job.message.envelope
    let batch = this.#batch(job, countMax, (index) => recipients[index]!)
    while (batch.recipients.length === 0 && !batch.complete)
      batch = this.#batch(job, countMax, (index) => recipients[index]!)
    return batch
  }

  /** Most messages have one recipient. */
  #only(job: Job): RecipientBatch {
    job.left = 0
    const recipient = this.#route(job, 0, job.message.envelope.recipients[0]!)
    return recipient === undefined ? nobody : { recipients: [recipient], complete: true, unreadCount: 0 }
  }

  /** Recipients that cannot be read now are tried again; the rest of the mail goes on. */
  async #supplyOrWait(job: Job, countMax: number): Promise<void> {
    const { life, options } = this.#parts
    if (isWithdrawn(job)) return
    try {
      job.useCount++
      await this.#supply(job, countMax).finally(() => job.useCount--)
    } catch (error) {
      if (life.isOver || !isWaybillError(error)) throw error
      tellTrouble(this.#parts, job.message.envelope.id, error)
      options.clock.after(lookAgainMs(error), () => life.run(this.#supplyOrWait(job, countMax)))
    }
  }

  async #supply(job: Job, countMax: number): Promise<void> {
    const { reader, life } = this.#parts
    const { message } = job
    const from = message.pendingFrom(job.next)
    let last = from
    for (let count = 1; count < Math.min(countMax, job.left); count++) last = message.pendingFrom(last + 1)
    const { addresses, orcpts } = await reader.addressees(message, from, last - from + 1)
    if (life.isOver || isWithdrawn(job)) return
    // Before they are routed: the outcome of a recipient that is put off names its address.
    const batch = this.#batch(job, countMax, (index) => {
      const address = addresses[index - from]!
      job.addresses!.set(index, address)
      job.orcpts?.set(index, orcpts[index - from]!)
      return address
    })
    if (batch.recipients.length === 0 && !batch.complete) return this.#supply(job, countMax)
    this.#outlet.supplied(job, batch)
  }

  /** @param take gives the address of the next one */
  #batch(job: Job, countMax: number, take: (index: number) => string): RecipientBatch {
    const recipients: SchedulerRecipient[] = []
    for (let count = Math.min(countMax, job.left); count > 0; count--) {
      const index = job.message.pendingFrom(job.next)
      job.next = index + 1
      job.left--
      const recipient = this.#route(job, index, take(index))
      if (recipient !== undefined) recipients.push(recipient)
    }
    return { recipients, complete: job.left === 0, unreadCount: job.left }
  }

  /** Asks where a recipient goes; one that has no route is deferred, and one whose site has to
   * ask for its mail. */
  #route(job: Job, index: number, address: string): SchedulerRecipient | undefined {
    const { options } = this.#parts
    let reason = unasked
    try {
      const { transport, nexthop } = routeOf(options, job.message.envelope, address)
      if (!Object.hasOwn(options.transports, transport))
        throw new TypeError(`there is no transport '${transport}'`)
      const isAsked =
        options.retry.limitsFor(transport, nexthop)?.queueonly !== true || isAskedFor(job.message, nexthop)
      if (isAsked) return { index, address, transport, nexthop }
    } catch (error) {
      reason = { status: '4.3.5', text: textOf(`no route: ${safeThrownText(error)}`) }
      this.#mistakes.tell(error, job.message.envelope.id)
    }
    this.#outlet.putOff(job, index, reason)
    return undefined
  }
}

const unasked: DeferReason = { status: '4.0.0', text: 'it waits until its site asks for it (queueonly)' }

/** Somebody has asked for mail to this nexthop, and this message was started for that. */
const isAskedFor = ({ askedFor }: ActiveMessage, nexthop: string): boolean =>
  askedFor !== undefined &&
  (askedFor.nexthop === undefined || comparableDomain(askedFor.nexthop) === comparableDomain(nexthop))

/** The message was taken out while its recipients were read, and may have ended since. */
const isWithdrawn = (job: Job): boolean => job.message.job !== job
