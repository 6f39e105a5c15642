/** `waybill fill --live`: a queue at work through a busy day, played in minutes, with sites that
 * are made up.
 * Invariant: the queue is a real one, on the real disk and clock; only the mail and the sites that
 * answer are made up, so that no mail leaves this process. */
import { setTimeout as sleep } from 'node:timers/promises'
import { countText } from '../../../src/base/text.js'
import { domainOf } from '../../../src/base/mail-address.js'
import { seededPrng } from '../../../src/base/prng.js'
import {
  fixedRetry,
  isWaybillError,
  openQueue,
  serveControl,
  type DeliveryRequest,
  type DeliveryResult,
  type Queue,
} from '../../../src/index.js'
import type { Surroundings } from '../text/output.js'
import { BusyDay, dayHours, rateAt } from './busy-day.js'

export interface LiveDay {
  /** Of the whole day, milliseconds. */
  readonly dayMs: number
  /** Messages a second at the busiest hour. */
  readonly peak: number
  readonly seed: number
  /** Shows the console of the queue. */
  readonly show: (queue: Queue) => Promise<void>
}

const stepMs = 100
/** A retry of five minutes comes after as much of the day. */
const retryMinutes = [5, 10, 20, 40, 66]
const newsletterHour = 11
/** In seconds of the busiest hour. */
const newsletterSeconds = 12

/** Plays until the day is over, or Ctrl-C. */
export async function playDay(path: string, day: LiveDay, surroundings: Surroundings): Promise<void> {
  const world = new World(day)
  const queue = await openQueue(path, {
    transports: { world: { deliver: (request, signal) => world.deliver(request, signal) } },
    route: (recipient) => ({ transport: 'world', nexthop: domainOf(recipient) }),
    scheduler: { minimalBackoffTime: Math.max(1, Math.round((5 * day.dayMs) / (dayHours * 60_000))) },
    retry: fixedRetry(
      retryMinutes.map((minutes) => Math.ceil((minutes * day.dayMs) / (dayHours * 60))),
      day.dayMs,
    ),
  })
  try {
    await serveControl(queue, path)
    await day.show(queue)
    world.begin(queue)
    while (world.hour < dayHours && !surroundings.stopped.aborted) {
      await world.submitDue(queue)
      if (surroundings.complainsToTerminal) surroundings.complain(`\r\x1b[K${world.text}`)
      await sleep(stepMs, undefined, { signal: surroundings.stopped }).catch(() => undefined)
    }
    if (surroundings.complainsToTerminal) surroundings.complain('\r\x1b[K')
    await surroundings.write(`${world.text}\n`)
  } catch (error) {
    if (!isWaybillError(error, 'QUEUE_CRASHED')) throw error
  } finally {
    queue.crash()
  }
}

/** The sites, the senders, and what has become of the mail between them. */
class World {
  readonly #day: LiveDay
  readonly #mails: BusyDay
  readonly #sites: BusyDay
  #startedAt = performance.now()
  #submittedAt = this.#startedAt
  #due = 0
  #hasNewsletter = false
  #accepted = 0
  #delivered = 0
  #deferred = 0
  #failed = 0

  constructor(day: LiveDay) {
    this.#day = day
    this.#mails = new BusyDay(seededPrng(day.seed))
    this.#sites = new BusyDay(seededPrng(day.seed + 1))
  }

  /** Its first hour is not over before the queue is open and shown. */
  begin(queue: Queue): void {
    this.#startedAt = performance.now()
    this.#submittedAt = this.#startedAt
    queue.on('accepted', () => void this.#accepted++)
    queue.on('delivered', ({ recipients }) => void (this.#delivered += recipients.length))
    queue.on('deferred', ({ recipients }) => void (this.#deferred += recipients.length))
    queue.on('failed', ({ recipients }) => void (this.#failed += recipients.length))
  }

  /** Of the day that is played. */
  get hour(): number {
    return ((performance.now() - this.#startedAt) / this.#day.dayMs) * dayHours
  }

  /** `13:40 of a busy day: 1 204 messages accepted, …` */
  get text(): string {
    const minutes = Math.min(dayHours * 60, Math.floor(this.hour * 60))
    const clock = `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`
    return `${clock} of a busy day: ${countText(this.#accepted, 'message')} accepted; of recipients ${this.#delivered} delivered, ${this.#deferred} times deferred, ${this.#failed} failed`
  }

  /** What has come due since the last time. */
  async submitDue(queue: Queue): Promise<void> {
    const { hour } = this
    const now = performance.now()
    this.#due += (rateAt(hour, this.#day.peak) * (now - this.#submittedAt)) / 1000
    this.#submittedAt = now
    if (hour > newsletterHour && !this.#hasNewsletter) {
      this.#hasNewsletter = true
      this.#due += newsletterSeconds * this.#day.peak
    }
    const count = Math.floor(this.#due)
    this.#due -= count
    await Promise.all(Array.from({ length: count }, () => queue.submit(this.#mails.mail())))
  }

  async deliver(
    { nexthop, attempts, recipients }: DeliveryRequest,
    signal: AbortSignal,
  ): Promise<DeliveryResult> {
    const { answer, delayMs } = this.#sites.answer(nexthop, this.hour, attempts)
    await sleep(delayMs, undefined, { signal, ref: false }).catch(() => undefined)
    const remote = `mx.${nexthop}[192.0.2.25]:25`
    if (signal.aborted) return { kind: 'deferred', status: '4.4.2', reason: 'the attempt was cut off' }
    switch (answer.kind) {
      case 'delivered':
        return { kind: 'delivered', response: answer.reply, remote, relayed: 'without-dsn' }
      case 'site':
        return { kind: 'site', status: answer.status, reason: answer.reply }
      case 'deferred':
      case 'failed':
        return recipients.map(() => ({
          kind: answer.kind,
          status: answer.status,
          reason: answer.reply,
          remote,
        }))
    }
  }
}
