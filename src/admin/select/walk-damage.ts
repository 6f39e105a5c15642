/** What a walk over the queue could not read.
 * Invariant: one place that does not verify, or that the device refuses, keeps nothing else from who asked; that it was met is told when
 * everything else has been answered. */
import { countText } from '../../base/count-text.js'
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

  /** Remembers it. @throws what is no damage, and everything after the end of this life */
  meet(error: unknown): void {
    if (this.#life.isOver || !isWaybillError(error) || !codes.includes(error.code)) throw error
    this.#first ??= error
  }

  /** What reading of one message came to; undefined when that met damage. @throws as `meet` */
  async of<T>(id: MessageId, reading: Promise<T>): Promise<T | undefined> {
    try {
      return await reading
    } catch (error) {
      this.meet(isWaybillError(error) ? ofMessage(id, error) : error)
      return undefined
    }
  }

  /** @throws WaybillError what was met first */
  tell(): void {
    if (this.#first !== undefined) throw this.#first
  }
}

/** Who asked learns by the id what else can be done with it. */
const ofMessage = (id: MessageId, error: WaybillError): WaybillError =>
  new WaybillError(error.code, 'the recipients of a message cannot be read', { ...error.place, id }, error)

/** Of what was being worked on when this life began; a verb counts it as failed. @throws WaybillError LIST_INCOMPLETE */
export function checkAllRead({ active, lanes, journal }: Parts): void {
  for (const [, { place }] of active.damaged()) {
    const { files } = lanes.get(place.lane).logs?.envelopes ?? journal
    const reason = `${countText(active.damagedCount, 'message')} that the recovery could not read`
    throw new WaybillError('LIST_INCOMPLETE', `not listed: ${reason}`, files.placeOf(place.position))
  }
}
