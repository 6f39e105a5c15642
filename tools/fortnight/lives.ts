/** Two weeks of a relay's life in seconds: the real engine on a simulated disk and clock.
 * It meets 50 000 messages, sites that are down for days, one flood and one power loss.
 * Invariant: the seed is the run. Times that others see are milliseconds since the fortnight
 * began. */
import { domainOf } from '../../src/base/mail-address.js'
import type { DeliveryRequest, DeliveryResult } from '../../src/delivery/transport.js'
import { isWaybillError } from '../../src/errors.js'
import { postfixRetry } from '../../src/policy/postfix-retry.js'
import { openQueue, type Queue } from '../../src/queue.js'
import type { DiskImage } from '../../src/sim/disk/disk-image.js'
import { SimDisk } from '../../src/sim/disk/sim-disk.js'
import { SimWorld } from '../../src/sim/world/world.js'
import type { Ledger } from './ledger.js'
import type { Mail } from './mail.js'
import { answerOf, dayMs, hourMs, isDown, minuteMs, resultOf, siteOf } from './sites.js'

/** Monday, 4 January 2027, midnight UTC. */
const beganAtMs: number = Date.UTC(2027, 0, 4)
const powerLossMs: number = 8 * dayMs + 10 * hourMs + 17_001
const rebootMs = minuteMs
/** A connection to a site that is down. */
const timeoutMs = 3000
/** The last mail came on day 14 and lives for five days, a report on it for five more. */
const endMs = 26 * dayMs
const eventsMax = 100_000_000

const kibibyte = 1024
const setup = {
  segmentBytes: 1024 * kibibyte,
  laneSegmentBytes: 256 * kibibyte,
  freeBytesMin: 0,
  // The default of two seconds would take half of the time of the run.
  checkpointIntervalMs: minuteMs,
  reportingMta: 'relay.example',
}
export const delayWarningTimeMs: number = 4 * hourMs

export interface FortnightOptions {
  readonly seed: number
  readonly mail: readonly Mail[]
  readonly ledger: Ledger
}

export async function liveThroughFortnight({ seed, mail, ledger }: FortnightOptions): Promise<void> {
  const first = new Life(seed, beganAtMs, ledger)
  await first.live(
    mail.filter(({ atMs }) => atMs < powerLossMs),
    powerLossMs,
  )
  const image = first.losePower()
  ledger.powerLossesMs.push(powerLossMs)
  const second = new Life(seed + 1, beganAtMs + powerLossMs + rebootMs, ledger, image)
  await second.live(
    mail.filter(({ atMs }) => atMs >= powerLossMs),
    endMs,
  )
}

/** From a start to a power loss, or to the end. */
class Life {
  readonly #world: SimWorld
  readonly #disk: SimDisk
  readonly #ledger: Ledger

  constructor(seed: number, wallStartMs: number, ledger: Ledger, image?: DiskImage) {
    this.#world = new SimWorld({ seed, order: 'fifo', wallStartMs })
    this.#disk = new SimDisk(this.#world, image === undefined ? {} : { image })
    this.#ledger = ledger
  }

  async live(mail: readonly Mail[], untilMs: number): Promise<void> {
    const queue = await this.#world.settle(this.#open())
    this.#listen(queue)
    this.#submitFrom(queue, mail, 0)
    await this.#world.run({ untilMs: untilMs - this.#nowMs() + this.#world.nowMs, eventsMax })
  }

  losePower(): DiskImage {
    this.#world.stop()
    const [left] = this.#disk.crashStates({ seed: this.#world.seed, statesMax: 1 })
    return left!.image
  }

  #nowMs(): number {
    return this.#world.clock.wallMs() - beganAtMs
  }

  #open(): Promise<Queue> {
    return openQueue('queue', {
      ...setup,
      retry: postfixRetry({ delayWarningTimeMs }),
      disk: this.#disk,
      clock: this.#world.clock,
      prng: this.#world.fork(),
      route: (recipient) => ({ transport: 'smtp', nexthop: domainOf(recipient) }),
      transports: { smtp: { deliver: (request) => this.#deliver(request) } },
    })
  }

  #listen(queue: Queue): void {
    const ledger = this.#ledger
    queue.on('deferred', (event) => ledger.deferred(event, this.#nowMs()))
    queue.on('delivered', (event) => ledger.ended(event, this.#nowMs(), 'delivered'))
    queue.on('failed', (event) => ledger.ended(event, this.#nowMs(), 'failed'))
    queue.on('expired', (event) => ledger.expired(event, this.#nowMs()))
    queue.on('reported', ({ id, report, action }) => ledger.reported(id, report, action, this.#nowMs()))
    queue.on('dead', ({ nexthop, untilMs }) =>
      ledger.dead.push({ domain: nexthop, atMs: this.#nowMs(), untilMs: untilMs - beganAtMs }),
    )
    queue.on('warning', ({ code, message }) => ledger.complain(`${code} ${message}`))
    queue.on('crashed', ({ error }) => ledger.complain(`the life ended: ${String(error)}`))
  }

  /** One timer waits at a time. */
  #submitFrom(queue: Queue, mail: readonly Mail[], index: number): void {
    const next = mail[index]
    if (next === undefined) return
    this.#world.clock.after(next.atMs - this.#nowMs(), () => {
      this.#submit(queue, next).catch((error: unknown) => this.#ledger.complain(String(error)))
      this.#submitFrom(queue, mail, index + 1)
    })
  }

  async #submit(queue: Queue, mail: Mail): Promise<void> {
    const { sender, recipients } = mail
    const data = `From: <${sender}>\r\nSubject: a message of the fortnight\r\n\r\nhello\r\n`
    try {
      const { id } = await queue.submit({ sender, recipients, data })
      this.#ledger.accepted(id, mail, this.#nowMs())
    } catch (error) {
      if (!isWaybillError(error)) throw error
      this.#ledger.complain(`${error.code} of a submission`)
    }
  }

  async #deliver(request: DeliveryRequest): Promise<DeliveryResult> {
    const { id, recipients } = request
    const site = siteOf(recipients[0]!)
    const begunMs = this.#nowMs()
    const firstMs = recipients.map((address) => this.#ledger.attempted(id, address, begunMs))
    if (request.sender === '') {
      const data = await request.data()
      if (Buffer.isBuffer(data)) this.#ledger.report(id, data)
    }
    await this.#wait(isDown(site, begunMs) ? timeoutMs : site.answerMs)
    const atMs = this.#nowMs()
    const answers = recipients.map((address, i) => answerOf(site, address, firstMs[i]!, atMs))
    const result = resultOf(site, atMs, answers)
    if (!('kind' in result))
      for (const [i, address] of recipients.entries()) this.#ledger.answered(id, address, answers[i]!)
    return result
  }

  #wait(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.#world.clock.after(delayMs, resolve))
  }
}
