/** Message ids: 16 characters of Crockford's base 32.
 * Nine are the time; seven are a number that starts at random in every life and counts up. So ids
 * sort by age, and can be read aloud: no I, L, O, U. A report has the id of its message and the
 * number of the attempt.
 * Invariant: no id is given twice, so an operator never deletes the wrong message. Numbers given by
 * a queue are even; those given by a submitter before it submits are odd. */
import { systemClock } from './clock.js'
import { systemPrng, type Prng } from './prng.js'

declare const brand: unique symbol
export type MessageId = string & { readonly [brand]: 'message id' }

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const countBound = 32 ** 7

export const isMessageId = (text: string): text is MessageId =>
  /^[0-9A-HJKMNP-TV-Z]{16}(?:-[1-9][0-9]{0,8})?$/.test(text)

/** Was it made by a submitter? */
export const isSubmitterId = (text: string): text is MessageId =>
  isMessageId(text) && text.length === 16 && alphabet.indexOf(text[15]!) % 2 === 1

/** Attempts between two requeues, in the numbers of reports. */
const attemptsPerRequeue = 1_000_000

/** @param attempt number of the attempt that the report is about @param requeues how often the
 * message was requeued */
export const reportId = (id: MessageId, attempt: number, requeues: number): MessageId =>
  `${id}-${requeues * attemptsPerRequeue + attempt}` as MessageId

/** Two digits. */
const pairs: readonly string[] = Array.from({ length: 1024 }, (_, value) => digits(value, 2))

export class MessageIds {
  #count: number
  #timeMs = -1
  /** Of the number without its last two digits. */
  #high = -1
  /** What the last id began with: all but two digits. */
  #start = ''

  /** @param giver a queue, or a program that submits */
  constructor(prng: Prng, giver: 'queue' | 'submitter' = 'queue') {
    const half = Math.floor((prng.uint32() / 0x1_0000_0000) * (countBound / 2))
    this.#count = 2 * half + (giver === 'submitter' ? 1 : 0)
  }

  next(wallMs: number): MessageId {
    this.#count = (this.#count + 2) % countBound
    const low = this.#count % 1024
    const high = (this.#count - low) / 1024
    if (wallMs !== this.#timeMs || high !== this.#high) {
      this.#timeMs = wallMs
      this.#high = high
      this.#start = digits(wallMs, 9) + digits(high, 5)
    }
    return (this.#start + pairs[low]!) as MessageId
  }
}

const submitterIds = new MessageIds(systemPrng(), 'submitter')

/** An id for one submission, for `submit({ id })`. No queue gives it to another message. */
export const newMessageId = (): MessageId => submitterIds.next(systemClock.wallMs())

function digits(value: number, width: number): string {
  let low = value % 0x4000_0000 // 30 bits are six digits: integer arithmetic on both halves
  let high = Math.floor(value / 0x4000_0000)
  let text = ''
  for (let i = 0; i < width; i++) {
    if (i < 6) {
      text = alphabet[low & 31]! + text
      low >>>= 5
    } else {
      text = alphabet[high & 31]! + text
      high >>>= 5
    }
  }
  return text
}
