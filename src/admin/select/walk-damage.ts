/** Collects damage while messages are listed.
 * Invariant: one unreadable message or lane never ends a listing; the first error is thrown after
 * everything else. */
import { countText } from '../../base/text.js'
import type { MessageId } from '../../base/message-id.js'
import { isWaybillError, WaybillError, type ErrorCode } from '../../errors.js'
import type { Life } from '../../engine/life/life.js'
import type { Parts } from '../../engine/life/parts.js'

const codes: readonly ErrorCode[] = ['LOG_CORRUPT', 'DISK_FAILED', 'LIST_INCOMPLETE']

export class WalkDamage {
  readonly #life: Life
  #first: WaybillError | undefined

  constructor(life: Life) {
    this.#life = life
  }

  /** Notes the damage. @throws every other error, and any error after the end of this life */
  meet(error: unknown): void {
    if (this.#life.isOver || !isWaybillError(error) || !codes.includes(error.code)) throw error
    this.#first ??= error
  }

  /** The result of reading one message; undefined if it met damage. @throws as `meet` */
  async of<T>(id: MessageId, reading: T | Promise<T>): Promise<T | undefined> {
    try {
      return await this.#life.orEnd(Promise.resolve(reading))
    } catch (error) {
      this.meet(isWaybillError(error) ? ofMessage(id, error) : error)
      return undefined
    }
  }

  /** @throws WaybillError the first damage */
  tell(): void {
    if (this.#first !== undefined) throw this.#first
  }
}

/** The id helps the caller to act on it. */
const ofMessage = (id: MessageId, error: WaybillError): WaybillError =>
  new WaybillError(error.code, 'the recipients of a message cannot be read', { ...error.place, id }, error)

/** An active message that recovery could not read; a verb counts it as failed.
 * @throws WaybillError LIST_INCOMPLETE */
export function checkAllRead({ active, lanes, journal }: Parts): void {
  for (const [, { place }] of active.damaged()) {
    const { files } = lanes.get(place.lane).logs?.envelopes ?? journal
    const reason = `${countText(active.damagedCount, 'message')} that the recovery could not read`
    throw new WaybillError('LIST_INCOMPLETE', `not listed: ${reason}`, files.placeOf(place.position))
  }
}
