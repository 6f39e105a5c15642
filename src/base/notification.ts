/** Requests for delivery status notifications (RFC 3461), and their forms.
 * Invariant: an envelope id and an original recipient are printable ASCII, and short enough to be
 * passed on over SMTP. */
import { isInternational } from './mail-address.js'

/** An event of a recipient that can be reported to the sender. */
export type NotifyWhen = 'success' | 'failure' | 'delay'

/** Events of a recipient that are reported; 'never' stands alone. */
export type Notify = 'never' | readonly NotifyWhen[]

/** The message was relayed to a server that knows DSN, and took over the request, or to one
 * that does not. */
export type Relayed = 'with-dsn' | 'without-dsn'

/** How much of the message a report of a failure returns. */
export type Ret = 'full' | 'headers'

/** What is asked for one recipient. */
export interface RecipientDsn {
  /** undefined: nothing was asked, so failures and delays are reported. */
  readonly notify?: Notify | undefined
  /** The recipient as the sender named it, `rfc822;ada@example.org`. */
  readonly orcpt?: string | undefined
}

/** A recipient with requests. */
export interface AskedRecipient extends RecipientDsn {
  readonly address: string
}

/** A request as a number, one bit for each event; 0 is no request. */
const bits: Readonly<Record<NotifyWhen, number>> = { success: 1, failure: 2, delay: 4 }
const neverBit = 8
const events = Object.keys(bits) as readonly NotifyWhen[]

export const notifyBitsMax: number = neverBit

/** @returns undefined when `notify` is invalid */
export function notifyBits(notify: unknown): number | undefined {
  if (notify === undefined) return 0
  if (notify === 'never') return neverBit
  if (!Array.isArray(notify) || notify.length === 0) return undefined
  let all = 0
  for (const when of notify as readonly unknown[]) {
    if (!events.includes(when as NotifyWhen)) return undefined
    all |= bits[when as NotifyWhen]
  }
  return all
}

/** The request in a list of words; some may be unknown. @param words in small letters */
export const notifyOfWords = (words: readonly unknown[]): unknown =>
  words.length === 1 && words[0] === 'never' ? 'never' : words

/** RET by its word in SMTP, in any letters. */
export const retOfWord = (word: string): Ret | undefined => retsByWord.get(word.toUpperCase())

const retsByWord: ReadonlyMap<string, Ret> = new Map([
  ['FULL', 'full'],
  ['HDRS', 'headers'],
])

export function notifyOf(asked: number): Notify | undefined {
  if (asked === 0) return undefined
  return asked === neverBit ? 'never' : events.filter((when) => (asked & bits[when]) !== 0)
}

/** Is the event reported? Without a request, failures and delays are. */
export const tells = (asked: number, when: NotifyWhen): boolean =>
  asked === 0 ? when !== 'success' : (asked & bits[when]) !== 0

/** Octets of their forms in SMTP. RFC 3461 §4.4, §4.2 */
const envidBytesMax = 100
const orcptBytesMax = 500

const printable = /^[\x20-\x7e]+$/
const atom = /^[a-z0-9-]{1,60}$/i

export const isEnvid = (text: string): boolean => printable.test(text) && xtext(text).length <= envidBytesMax

/** A type, a semicolon and an address. */
export const isOrcpt = (text: string): boolean =>
  printable.test(text) &&
  atom.test(typeOf(text)) &&
  text.length > typeOf(text).length + 1 &&
  orcptXtext(text).length <= orcptBytesMax

const typeOf = (orcpt: string): string => orcpt.slice(0, Math.max(0, orcpt.indexOf(';')))

/** Encodes characters that could end a parameter, and `+`, as `+` and two digits. RFC 3461 §4 */
export const xtext = (text: string): string =>
  text.replace(/[^\x21-\x2a\x2c-\x3c\x3e-\x7e]/g, (character) => {
    const code = character.charCodeAt(0)
    return `+${code.toString(16).toUpperCase().padStart(2, '0')}`
  })

/** The type is written as it is. */
export const orcptXtext = (orcpt: string): string => {
  const type = typeOf(orcpt)
  return `${type};${xtext(orcpt.slice(type.length + 1))}`
}

/** @returns undefined when it is no xtext */
export const fromXtext = (text: string): string | undefined =>
  /^(?:[\x21-\x2a\x2c-\x3c\x3e-\x7e]|\+[0-9A-F]{2})+$/.test(text)
    ? text.replace(/\+([0-9A-F]{2})/g, (_, digits: string) => String.fromCharCode(parseInt(digits, 16)))
    : undefined

/** The address in an ORCPT. Encoded letters outside ASCII are decoded; other codes, such as line
 * ends, stay encoded. */
export const addressOfOrcpt = (orcpt: string): string =>
  orcpt.slice(orcpt.indexOf(';') + 1).replace(/\\x\{([0-9a-f]{2,6})\}/gi, (form, digits: string) => {
    const code = parseInt(digits, 16)
    const letter = code > 0x10_ffff ? '' : String.fromCodePoint(code)
    return isInternational(letter) && /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(letter) ? letter : form
  })
