/** The table of senders, like Postfix's smtp_generic_maps: what a sender of this machine is to the
 * world. A line is `user@host.internal`, `@host.internal` (all users there) or `.internal` (all
 * users below it), and behind it an address, or `@example.org` (the same user there). Pure.
 * Invariant: the narrowest line counts, and what it says is final: no line is looked up again. */
import { isInternational, isMailAddress } from '../../base/mail-address.js'
import { WaybillError } from '../../errors.js'
import { addressKeys, localPartOf, patternKey } from './address-pattern.js'
import { asciiName } from './nexthop.js'
import { tableLines } from './table-lines.js'

/** At least one line. It can be told to another thread. */
export interface Senders {
  /** An address, or `@domain`, by a key of address-pattern.ts. */
  readonly lines: ReadonlyMap<string, string>
}

/** @throws WaybillError OPTION_INVALID with path and line */
export function sendersIn(text: string, path: string): Senders {
  const lines = new Map<string, string>()
  const option = 'senders'
  for (const { text: line, place } of tableLines(text, option, path)) {
    const bad = (reason: string): WaybillError => new WaybillError('OPTION_INVALID', reason, place)
    const [left = '', right, ...others] = line.match(word) ?? []
    const key = leftKey(left)
    if (key === undefined || right === undefined || others.length > 0)
      throw bad(
        'expected two words: user@host.internal, @host.internal or .internal, then an address or @example.org',
      )
    const sender = rightOf(right)
    if (sender === undefined) throw bad(`${right} is no address and no @domain in ASCII`)
    if (lines.has(key)) throw bad(`${left} has a line above`)
    lines.set(key, sender)
  }
  if (lines.size === 0) throw new WaybillError('OPTION_INVALID', 'there is no sender', { option, path })
  return { lines }
}

/** Between blanks, except those in quotes. */
const word = /(?:"(?:[^"\\]|\\.)*"|\S)+/g

function leftKey(text: string): string | undefined {
  if (!text.startsWith('@')) return /^\.|@/.test(text) ? patternKey(text) : undefined
  const domain = text.slice(1)
  return /^\.|@/.test(domain) ? undefined : patternKey(domain)
}

/** In ASCII: a sender in letters needs servers with SMTPUTF8, which the message did not ask for. */
function rightOf(text: string): string | undefined {
  const domain = asciiName(text.slice(text.lastIndexOf('@') + 1))
  const sender = text.slice(0, text.lastIndexOf('@') + 1) + domain
  if (isInternational(sender)) return undefined
  return isMailAddress(sender.startsWith('@') ? `x${sender}` : sender) ? sender : undefined
}

/** @param address '' is the null sender, which stays
 * @returns the address as it stands when it has no line, or would be too long */
export function shownSender({ lines }: Senders, address: string): string {
  if (!address.includes('@')) return address
  const key = addressKeys(address).find((one) => lines.has(one))
  if (key === undefined) return address
  const right = lines.get(key)!
  const shown = right.startsWith('@') ? localPartOf(address) + right : right
  return isMailAddress(shown) ? shown : address
}
