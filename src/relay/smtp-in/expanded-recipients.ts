/** Expands the recipients that a client names to those that the queue gets.
 * Invariant: a recipient that got 250 at RCPT is expanded as the aliases were then, even if they
 * have changed before the data. All recipients fit one message, and each address is in it once. */
import type { SMTPServerAddress, SMTPServerSession } from 'smtp-server'
import { notifyBits, notifyOf, type AskedRecipient, type Notify } from '../../base/notification.js'
import { WaybillError } from '../../errors.js'
import { addressKey } from '../tables/address-pattern.js'
import { expanded, type Aliases, type Expansion } from '../tables/aliases.js'
import { orcptOfAddress } from '../parameters/dsn-parameters.js'
import { ReplyError } from '../parameters/reply-error.js'

type Recipient = string | AskedRecipient

/** What the recipients of a message have become so far. */
interface Taken {
  /** Of address-pattern.ts. */
  readonly keys: Set<string>
  /** All results, with repeats. */
  count: number
}

/** So many results are looked for before a message is full, repeats included, or as many as it may
 * have where those are more:
 *    1. a line for a domain names a thousand
 *    2. a stranger names a thousand users there, in fifty sessions
 *    3. fifty million are kept, and to find them took a minute in which nobody else was heard */
const repeatedMax = (countMax: number): number => Math.max(countMax, Math.min(10 * countMax, 10_000))

export class ExpandedRecipients {
  readonly #became = new WeakMap<SMTPServerAddress, Expansion>()
  readonly #taken = new WeakMap<SMTPServerSession['envelope'], Taken>()

  /** Of a RCPT that is right. @param plain its address as the queue would have it, @param countMax
   * recipients of one message
   * @returns the reason of a refusal */
  take(
    named: SMTPServerAddress,
    plain: string,
    { envelope }: Pick<SMTPServerSession, 'envelope'>,
    { aliases, countMax }: { readonly aliases: Aliases; readonly countMax: number },
  ): ReplyError | null {
    const taken = this.#taken.get(envelope) ?? { keys: new Set(), count: 0 }
    this.#taken.set(envelope, taken)
    if (taken.count >= repeatedMax(countMax)) return full()
    const became = expanded(aliases, plain)
    if (became === undefined || became.size > countMax)
      return new ReplyError({ code: 451, enhanced: '4.6.0' }, 'alias expansion error')
    taken.count += became.size
    const keys = [...became.keys()].filter((key) => !taken.keys.has(key))
    if (taken.keys.size + keys.length > countMax) return full()
    for (const key of keys) taken.keys.add(key)
    this.#became.set(named, became)
    return null
  }

  /** @param named as `rcptTo`, as the queue would have them */
  of(rcptTo: readonly SMTPServerAddress[], named: readonly Recipient[]): Recipient[] {
    const recipients = new Map<string, Recipient>()
    for (const [i, recipient] of named.entries())
      for (const [key, one] of each(recipient, this.#became.get(rcptTo[i]!))) {
        const other = recipients.get(key)
        recipients.set(key, other === undefined ? one : both(other, one))
      }
    return [...recipients.values()]
  }
}

/** Recipients that came all at once. @param countMax of one message
 * @throws WaybillError RECIPIENTS_TOO_MANY */
export function expandedAll(named: readonly Recipient[], aliases: Aliases, countMax: number): Recipient[] {
  const { recipients, refused } = expandedEach(named, aliases, countMax)
  const [first] = refused
  if (first !== undefined)
    throw new WaybillError('RECIPIENTS_TOO_MANY', first.reply.message, { recipient: first.address })
  return recipients
}

/** Recipients that came all at once, and those for which there is no room in one message. */
export function expandedEach(
  named: readonly Recipient[],
  aliases: Aliases,
  countMax: number,
): { recipients: Recipient[]; refused: { readonly address: string; readonly reply: ReplyError }[] } {
  const recipients = new ExpandedRecipients()
  const session = { envelope: {} } as Pick<SMTPServerSession, 'envelope'>
  const rcptTo: SMTPServerAddress[] = []
  const taken: Recipient[] = []
  const refused: { address: string; reply: ReplyError }[] = []
  for (const recipient of named) {
    const rcpt = { address: addressOf(recipient) } as SMTPServerAddress
    const reply = recipients.take(rcpt, rcpt.address, session, { aliases, countMax })
    if (reply !== null) refused.push({ address: rcpt.address, reply })
    else {
      rcptTo.push(rcpt)
      taken.push(recipient)
    }
  }
  return { recipients: recipients.of(rcptTo, taken), refused }
}

/** As for one recipient too many: the client sends it another message. */
const full = (): ReplyError => new ReplyError({ code: 452, enhanced: '4.5.3' }, 'too many recipients')

const addressOf = (recipient: Recipient): string =>
  typeof recipient === 'string' ? recipient : recipient.address

/** What was asked goes with each, and the address that the client has named: RFC 3461 §4.2;
 * Postfix's original recipient. */
function* each(named: Recipient, became: Expansion | undefined): Generator<[key: string, one: Recipient]> {
  const original = addressOf(named)
  const key = addressKey(original)
  if (became === undefined || (became.size === 1 && became.has(key))) return yield [key, named]
  const { notify, orcpt = orcptOfAddress(original) } = typeof named === 'string' ? {} : named
  for (const [key, address] of became) yield [key, { address, notify, orcpt }]
}

/** Two named recipients became one: the requests of both apply. */
function both(one: Recipient, other: Recipient): Recipient {
  const first = typeof one === 'string' ? { address: one } : one
  const second = typeof other === 'string' ? { address: other } : other
  if (first.notify === 'never') return second
  if (second.notify === 'never') return first
  const notify = union(first.notify, second.notify)
  return typeof one === 'string' && notify === undefined ? one : { ...first, notify }
}

const union = (one: Notify | undefined, other: Notify | undefined): Notify | undefined =>
  one === other ? one : notifyOf(bitsOf(one) | bitsOf(other))

const bitsOf = (notify: Notify = ['failure', 'delay']): number => notifyBits(notify)!
