/** The data of the view Destinations: destinations, and the ages of waiting mail by domain. */
import type { Destination, SuspensionTarget } from '../facts/api.js'
import type { AgeShape } from '../facts/inspections.js'
import { spanText } from '../facts/format.js'
import { isSlowedText, isSuspendedText } from '../facts/mail-words.js'
import type { App } from './app.js'
import { errorText } from '../parts/client.js'
import type { Asked } from './one-message.js'

export type ShapeBy = 'recipient' | 'sender'

const allMax = 1000
const everyLane = ['incoming', 'active', 'deferred', 'hold'].map((lane) => `lane=${lane}`).join('&')
const renewMs = 5000

export interface Said {
  readonly text: string
  readonly isRefused: boolean
  readonly by: 'row' | 'form'
}

export class Destinations {
  readonly #app: App
  #timer: ReturnType<typeof setInterval> | undefined
  /** More than the live figures have; asked for now and then. */
  all: Asked<{ readonly count: number; readonly destinations: readonly Destination[] }> = { kind: 'asked' }
  shape: Asked<AgeShape> | undefined
  shapeBy: ShapeBy = 'recipient'
  /** What the last action said, and where: beside the table, or beside the form. */
  said: Said | undefined
  /** The next hop that the last action has resumed: its deferred mail may be flushed. */
  resumed: string | undefined

  constructor(app: App) {
    this.#app = app
  }

  show(): void {
    if (this.#timer !== undefined) return
    this.#timer = setInterval(() => void this.renew(), renewMs)
    this.said = undefined
    this.resumed = undefined
    void this.renew()
    void this.count(this.shapeBy)
  }

  leave(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  async renew(): Promise<void> {
    try {
      const value = await this.#app.client.get<{ count: number; destinations: Destination[] }>(
        `/v1/destinations?limit=${allMax}`,
      )
      this.all = { kind: 'there', value: { ...value, destinations: this.#steady(value.destinations) } }
    } catch (error) {
      // What was there stays, marked as old by the banner.
      if (this.all.kind !== 'there') this.all = { kind: 'refused', code: '', text: errorText(error) }
    }
    this.#app.changed()
  }

  /** While the reader points at the table, no row moves away from under the pointer. */
  #steady(destinations: readonly Destination[]): readonly Destination[] {
    if (this.all.kind !== 'there') return destinations
    if (document.querySelector('.destinations:is(:hover, :focus-within)') === null) return destinations
    const keyOf = ({ transport, name }: Destination): string => `${transport} ${name}`
    const places = new Map(this.all.value.destinations.map((one, i) => [keyOf(one), i]))
    const placeOf = (one: Destination): number => places.get(keyOf(one)) ?? places.size
    return destinations.toSorted((a, b) => placeOf(a) - placeOf(b))
  }

  /** Reads the queue: seconds, where it is large. */
  async count(by: ShapeBy): Promise<void> {
    this.shapeBy = by
    this.shape = { kind: 'asked' }
    this.#app.changed()
    let shape: Asked<AgeShape>
    try {
      shape = {
        kind: 'there',
        value: await this.#app.client.get<AgeShape>(`/v1/qshape?by=${by}&limit=30&${everyLane}`),
      }
    } catch (error) {
      shape = { kind: 'refused', code: '', text: errorText(error) }
    }
    if (this.shapeBy === by) this.shape = shape
    this.#app.changed()
  }

  async resume({ transport, nexthop, name, state }: Destination): Promise<void> {
    const done = `${name} is resumed. Deferred mail waits for its time: flush it to attempt it now.`
    const order = state.kind === 'suspended' ? state.order : null
    const isDone =
      order === null
        ? await this.#act('row', '/v1/destinations/resume', { transport, name }, done)
        : await this.#act('row', '/v1/destinations/unsuspend', bodyOf(order), done)
    // An order for a whole transport has no next hop.
    if (isDone && order?.nexthop !== null) this.resumed = nexthop
    this.#app.changed()
  }

  /** @param forMs undefined: until it is resumed */
  async suspend(by: Said['by'], target: SuspensionTarget, forMs?: number): Promise<boolean> {
    const what = target.nexthop ?? target.transport ?? ''
    const done = isSuspendedText(what, forMs === undefined ? undefined : spanText(forMs))
    return this.#act(by, '/v1/destinations/suspend', { ...bodyOf(target), forMs }, done)
  }

  /** At most so many deliveries to a next hop begin in that time. */
  async slow(
    target: SuspensionTarget,
    { count, perMs }: { readonly count: number; readonly perMs: number },
    forMs: number,
  ): Promise<boolean> {
    const done = isSlowedText(target.nexthop ?? '', `${count} in ${spanText(perMs)}`, spanText(forMs))
    return this.#act('form', '/v1/destinations/slow', { ...bodyOf(target), count, perMs, forMs }, done)
  }

  /** What is missing in the form. */
  refuse(text: string): void {
    this.said = { text, isRefused: true, by: 'form' }
    this.resumed = undefined
    this.#app.say(text)
    this.#app.changed()
  }

  /** @returns whether it was done */
  async #act(by: Said['by'], path: string, body: object, done: string): Promise<boolean> {
    this.resumed = undefined
    let said: Said
    try {
      await this.#app.client.post(path, body)
      said = { text: done, isRefused: false, by }
    } catch (error) {
      said = { text: errorText(error), isRefused: true, by }
    }
    this.said = said
    this.#app.say(said.text)
    await this.renew()
    return !said.isRefused
  }
}

const bodyOf = ({ transport, nexthop }: SuspensionTarget): object => ({
  ...(transport === null ? undefined : { transport }),
  ...(nexthop === null ? undefined : { nexthop }),
})
