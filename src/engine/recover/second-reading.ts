/** Messages whose envelope a recovery did not get, because the device refused to show it: they are
 * read again each minute.
 * Invariant: one that is read is active from the step in which a new start of it is appended, and
 * its place is held until then. What does not verify stays so, and waits for the operator. */
import { ActiveMessage } from '../../active/active-message.js'
import type { DamagedMessage } from '../../active/active-set.js'
import type { Position } from '../../base/position.js'
import { isWaybillError } from '../../errors.js'
import type { Envelope } from '../../record/envelope.js'
import { appendCarrying, carryingOf } from '../checkpoint/carry.js'
import { pinSegments, unpinDamaged } from '../checkpoint/pinning.js'
import type { Parts } from '../life/parts.js'

const againMs = 60_000

export class SecondReading {
  readonly #parts: Parts
  readonly #unread: Set<DamagedMessage>
  readonly #onRead: (message: ActiveMessage) => void

  /** @param unread held among the damaged, @param onRead it is active */
  constructor(parts: Parts, unread: readonly DamagedMessage[], onRead: (message: ActiveMessage) => void) {
    this.#parts = parts
    this.#unread = new Set(unread)
    this.#onRead = onRead
  }

  /** Reads them when some time has passed, as often as there are any. */
  begin(): void {
    const { life, options } = this.#parts
    if (this.#unread.size > 0) options.clock.after(againMs, () => life.run(this.#read()))
  }

  async #read(): Promise<void> {
    for (const damaged of this.#unread) {
      const envelope = await this.#envelopeOf(damaged)
      this.#parts.life.check()
      const message = envelope && this.#takenUp(damaged, envelope)
      if (message === undefined) continue
      this.#unread.delete(damaged)
      this.#onRead(message)
    }
    this.begin()
  }

  async #envelopeOf(damaged: DamagedMessage): Promise<Envelope | undefined> {
    const { life, reader, events } = this.#parts
    try {
      return await reader.envelope(damaged.place)
    } catch (error) {
      if (life.isOver || !isWaybillError(error)) throw error
      if (isPassing(error)) return undefined
      this.#unread.delete(damaged)
      events.emit('warning', { code: error.code, message: `a message cannot be read: ${error.message}` })
      return undefined
    }
  }

  /** @returns undefined when there is no room for a start */
  #takenUp(damaged: DamagedMessage, envelope: Envelope): ActiveMessage | undefined {
    const { active } = this.#parts
    const held = this.#startOf(damaged)
    const message = new ActiveMessage(envelope, damaged.place, held, damaged.carried)
    const start = appendCarrying(this.#parts, carryingOf(message), 'accepted mail')
    if (start === undefined) return undefined
    message.start = start
    active.add(message)
    active.keepRecipients(message)
    pinSegments(this.#parts, message)
    active.removeDamaged(held)
    unpinDamaged(this.#parts, damaged.place)
    return message
  }

  /** Where its place is held now: it may have got a newer start. */
  #startOf(damaged: DamagedMessage): Position {
    return [...this.#parts.active.damaged()].find(([, held]) => held === damaged)![0]
  }
}

/** What does not verify stays so; a device that failed may answer again. */
export const isPassing = (error: unknown): boolean => isWaybillError(error, 'DISK_FAILED')
