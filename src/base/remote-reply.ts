/** Finds the reply of a remote server in the reason of an outcome.
 * Invariant: the reason of an outcome that names a remote ends with one reply of it, behind our own
 * words. Readers that show both put the name directly before the reply.
 * Why: a bounce has the reply alone in `Diagnostic-Code: smtp` (RFC 3464, 2.3.6). */

/** Bound of a remote's name, octets of printable ASCII. */
export const remoteBytesMax = 255

/** Separates what is said of other servers from the reply of the last one. */
export const andLastly = '; and '

const replyStart = /^[245]\d\d(?:[ -]|$)/
const innerReply = /: (?=[245]\d\d(?:[ -]|$))/

export interface ReasonParts {
  /** Our own words, '' or with the blank behind them. */
  readonly before: string
  readonly reply: string
}

/** @returns undefined for a text without a reply */
export function reasonParts(text: string): ReasonParts | undefined {
  const at = replyAt(text)
  return at < 0 ? undefined : { before: text.slice(0, at), reply: text.slice(at) }
}

function replyAt(text: string): number {
  if (replyStart.test(text)) return 0
  const last = text.lastIndexOf(andLastly)
  const start = last < 0 ? 0 : last + andLastly.length
  if (replyStart.test(text.slice(start))) return start
  const inner = innerReply.exec(text.slice(start))
  return inner === null ? -1 : start + inner.index + 2
}

/** One line for people: the status where the text does not say it, our words, the server, its
 * reply. `mx.example.net[192.0.2.1]:25: 451 4.2.1 try later` */
export function reasonText(status: string, text: string, remote: string | undefined): string {
  const words = reasonParts(text)
  // A reply without an enhanced status gets one that says no more than its first digit.
  const isSaid = words !== undefined && (words.reply.includes(status) || status.endsWith('.0.0'))
  const start = status === '' || isSaid ? '' : `${status} `
  if (remote === undefined) return start + text
  return words === undefined
    ? `${start}${remote}: ${text}`
    : `${start}${words.before}${remote}: ${words.reply}`
}

/** The server as `Remote-MTA: dns` names it: a host name, or an address in brackets.
 * @returns undefined for one without either, as behind a Unix socket. RFC 3464, 2.3.5 */
export function remoteMta(remote: string): string | undefined {
  const [, name = '', address = ''] = server.exec(remote) ?? []
  if (name !== '' && !isAddress(name)) return name
  const literal = [address, name, remote].find(isAddress)
  if (literal === undefined) return undefined
  return literal.includes(':') ? `[IPv6:${literal}]` : `[${literal}]`
}

/** The form of one; nothing connects to it. */
const isAddress = (text: string): boolean => /^(?:[\d.]+|[0-9a-f:.]*:[0-9a-f:.]*)$/i.test(text)

/** A name, an address in brackets, or both; then a port. */
const server = /^([a-z0-9_.-]*?)\.?(?:\[([0-9a-f.:]+)\])?(?::\d+)?$/i
