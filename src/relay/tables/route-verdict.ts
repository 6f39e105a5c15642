/** Routes that deliver nowhere, as in Postfix: `error:5.1.2 TEXT` returns mail, `retry:4.3.2 TEXT`
 * puts it off, `discard:TEXT` takes it and delivers it to nobody. Pure.
 * Invariant: a verdict that returns mail also refuses it at the door, so that the sender's own
 * server reports it:
 *    1. strangers write to a domain that is given up, in the name of others
 *    2. all is taken, and returned
 *    3. the others get it */
import type { Outcome } from '../../delivery/transport.js'
import { splitAddress } from './address-extension.js'
import { addressKeys } from './address-pattern.js'

export const verdicts = ['error', 'retry', 'discard'] as const
export type Verdict = (typeof verdicts)[number]

export const isVerdict = (transport: string): transport is Verdict =>
  (verdicts as readonly string[]).includes(transport)

/** What is said when the line says nothing. @see Postfix error(8) */
const usual = {
  error: { status: '5.0.0', text: 'mail for this address is not taken' },
  retry: { status: '4.0.0', text: 'mail for this address has to wait' },
  discard: { status: '', text: 'discarded' },
} as const

/** Characters of the text: with what stands before it, one line of a reply. */
const textCharsMax = 400

interface Said {
  readonly status: string
  readonly text: string
}

/** @param said behind `error:` and its like: a status and a text, of which each may be left out
 * @returns why it is invalid, or what is said */
export function verdictOf(verdict: Verdict, said: string): Said | string {
  const [, given, rest = ''] = /^(?:(\d\.\d{1,3}\.\d{1,3})(?:\s+|$))?(.*)$/.exec(said.trim()) ?? []
  const { status, text } = usual[verdict]
  if (!/^[\x20-\x7e]*$/.test(rest) || rest.length > textCharsMax)
    return `the text is at most ${textCharsMax} characters of ASCII`
  if (given !== undefined && given[0] !== status[0])
    return status === ''
      ? 'what is discarded has no status'
      : `a status behind ${verdict}: begins with ${status[0]}`
  return { status: given ?? status, text: rest || text }
}

/** What becomes of a recipient. @param nexthop as it stands behind `error:` and its like */
export function verdictOutcome(verdict: Verdict, nexthop: string): Outcome {
  const said = verdictOf(verdict, nexthop)
  // A rerouted message may name anything.
  const { status, text } = typeof said === 'string' ? usual[verdict] : said
  switch (verdict) {
    case 'error':
      return { kind: 'failed', status, reason: text }
    case 'retry':
      return { kind: 'deferred', status, reason: text }
    case 'discard':
      return { kind: 'delivered', response: text }
  }
}

/** Whose mail is refused at the door. It can be told to another thread. */
export interface RefusedRecipients {
  /** By key of address-pattern.ts, and `*`; undefined: a narrower line, which leads somewhere.
   * Empty where nobody is refused. */
  readonly lines: ReadonlyMap<string, Said | undefined>
  /** As the routes have them. */
  readonly delimiters: string
}

/** @returns the reply to the client; undefined: not refused */
export const refusalOf = ({ lines, delimiters }: RefusedRecipients, recipient: string): Said | undefined =>
  narrowestLine(lines, recipient, delimiters)

/** @see Postfix transport(5): the address, the same without its extension, its domain, what
 * that is below, all */
export function narrowestLine<Line>(
  lines: ReadonlyMap<string, Line>,
  recipient: string,
  delimiters: string,
): Line | undefined {
  const [self, ...domains] = addressKeys(recipient)
  const bare = splitAddress(self, delimiters)?.bare
  for (const key of [self, ...(bare === undefined ? [] : [bare]), ...domains])
    if (lines.has(key)) return lines.get(key)
  return lines.get('*')
}
