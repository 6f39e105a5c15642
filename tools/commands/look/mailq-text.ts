/** A message of `mailq`, as text and as JSON. Pure, except for the time zone. */
import { nounText } from '../../../src/base/text.js'
import type { RequestDsn } from '../../../src/delivery/transport.js'
import type { Route } from '../../../src/index.js'
import type { QueuedMessage } from '../../../src/inspect/messages/queued-message.js'
import type { Envelope } from '../../../src/record/envelope.js'
import { jsonHandling } from './listing-options.js'
import type { Output } from '../text/output.js'
import { printable, reasonsByIndex, senderText, shortTime } from '../text/shown-text.js'

/** The part of a message that is shown. */
export interface ShownMessage extends Pick<
  QueuedMessage,
  'where' | 'lane' | 'dueAt' | 'waiting' | 'waitingCount' | 'notes' | 'uncertain'
> {
  readonly envelope: Pick<
    Envelope,
    'id' | 'sender' | 'acceptedAt' | 'dataBytes' | 'attempts' | 'recipientCount' | 'terms'
  >
}

/** Listed messages, all of it printable. */
export interface PlainPiece {
  readonly kind: 'plain'
  /** Each behind an empty line; as JSON each a line. */
  readonly text: Buffer
  readonly count: number
  /** Of their data. */
  readonly dataBytes: number
}

/** Of each address; undefined where no relay was asked, or nobody knows the way. */
export type Routes = readonly (Route | undefined)[]

export const listingRule: string = '----Queue ID----- --Size-- ---Arrival Time---- --Sender/Recipient------\n'
/** Characters of its columns but the last. */
export const listingWidths = { id: 17, size: 8, time: 19 } as const
export const listingIndent: string = ' '.repeat(
  listingWidths.id + listingWidths.size + listingWidths.time + 3,
)
/** Column at which a reason ends. */
const reasonWidth = 76

export const queueMarks = { incoming: '', active: '*', deferred: '', hold: '!' } as const

/** Pads with spaces in front; fast for many short strings. */
const spaces = Array.from({ length: 100 }, (_, count) => ' '.repeat(count))
const fill = (text: string, width: number): string => spaces[width - text.length] ?? ''

/** Above the recipients that wait for it. @param reason '' is an unknown one */
export function reasonLine(reason: string): string {
  const told = reason === '' ? 'reason unavailable' : reason
  return `${fill(told, reasonWidth)}(${told})\n`
}

export function textOf(message: ShownMessage, addresses: readonly string[], routes: Routes = []): string {
  const { envelope, where, uncertain } = message
  const id = `${envelope.id}${queueMarks[where]}${uncertain ? '?' : ''}`
  const size = String(envelope.dataBytes)
  const time = shortTime(envelope.acceptedAt)
  const { id: idWidth, size: sizeWidth, time: timeWidth } = listingWidths
  let text = `${id}${fill(id, idWidth)} ${fill(size, sizeWidth)}${size} ${fill(time, timeWidth)}${time} ${senderText(envelope.sender)}\n`
  const reasonAt = reasonsByIndex(message.notes, envelope.recipientCount)
  let shown = ''
  for (let i = 0; i < addresses.length; i++) {
    const reason = reasonAt(message.waiting?.[i] ?? i) ?? ''
    if (reason !== shown) {
      shown = reason
      text += reasonLine(reason)
    }
    text += `${listingIndent}${printable(addresses[i]!)}${wayText(routes[i])}\n`
  }
  return text
}

/** Writes a listing, and counts it. */
export class Tally {
  readonly #out: Output
  readonly #json: boolean
  #bytes = 0
  count = 0

  constructor(out: Output, json: boolean) {
    this.#out = out
    this.#json = json
  }

  add(
    message: ShownMessage,
    addresses: readonly string[],
    { dsn, routes }: { readonly dsn?: RequestDsn | undefined; readonly routes?: Routes | undefined },
  ): void {
    if (this.#json) this.#out.json(jsonOf(message, addresses, dsn, routes))
    else this.#out.text((this.count === 0 ? listingRule : '\n') + textOf(message, addresses, routes))
    this.count++
    this.#bytes += message.envelope.dataBytes
  }

  async addPlain({ text, count, dataBytes }: PlainPiece): Promise<void> {
    const isBehindRule = this.count === 0 && !this.#json
    if (isBehindRule) this.#out.text(listingRule)
    // There no empty line stands.
    await this.#out.checked(isBehindRule ? text.subarray(1) : text)
    this.count += count
    this.#bytes += dataBytes
  }

  /** @param except what an empty listing may have left out */
  end(except: string): void {
    if (this.#json) return
    const sum = `${Math.floor(this.#bytes / 1024)} Kbytes in ${this.count} ${nounText(this.count, 'Request')}`
    this.#out.line(this.count === 0 ? `Mail queue is empty${except}` : `\n-- ${sum}.`)
  }
}

/** Behind the address, so that its column stays what it was. */
const wayText = (route: Route | undefined): string =>
  route === undefined ? '' : ` via ${printable(route.transport)}:${printable(route.nexthop)}`

/** @param dsn by their indexes in the envelope */
export function jsonOf(
  message: ShownMessage,
  addresses: readonly string[],
  dsn: RequestDsn | undefined,
  routes: Routes = [],
): Record<string, unknown> {
  const { envelope, where, uncertain } = message
  const reasonAt = reasonsByIndex(message.notes, envelope.recipientCount)
  return {
    queue_name: where,
    queue_id: envelope.id,
    arrival_time: Math.floor(envelope.acceptedAt / 1000),
    message_size: envelope.dataBytes,
    force_expired: false,
    sender: envelope.sender === '' ? 'MAILER-DAEMON' : envelope.sender,
    recipients: addresses.map((address, i) => {
      const index = message.waiting?.[i] ?? i
      const reason = reasonAt(index)
      const { transport, nexthop } = routes[i] ?? {}
      const told = { address, delay_reason: reason, transport, nexthop }
      return dsn === undefined ? told : { ...told, ...dsn.recipients[index] }
    }),
    ...jsonHandling(message, dsn),
    recipient_count: message.waitingCount,
    ...(uncertain ? { uncertain } : undefined),
  }
}
