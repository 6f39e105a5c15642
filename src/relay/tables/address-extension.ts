/** The extension of an address, as Postfix's recipient_delimiter has it: `+lists` of
 * `ada+lists@example.com`. Pure.
 * Invariant: what is taken off and put on again is the same address, and nobody's name is empty.
 * The first delimiter decides, whichever of them it is; a local part that needs quotes has none.
 * @see Postfix split_addr(3), strip_addr(3) */
import { withoutNeedlessQuotes } from '../../base/mail-address.js'
import { localPartOf } from './address-pattern.js'

/** What may stand between name and extension: of the characters of a name those that are no letter
 * and no digit, and say nothing of the way, as `%` and `!` do. */
const delimiterCharacters = "+-_=.#$&'*/?^{|}~`"

/** Each once, at least one. */
export function areDelimiters(text: unknown): boolean {
  if (typeof text !== 'string' || text === '') return false
  return text
    .split('')
    .every((character, i) => delimiterCharacters.includes(character) && text.indexOf(character) === i)
}

/** For what refuses others. */
export const delimitersWanted: string = `some of ${delimiterCharacters}, each once`

export interface ExtendedAddress {
  /** Without the extension. */
  readonly bare: string
  /** With the delimiter before it. */
  readonly extension: string
}

/** @param written as its sender has it, @param delimiters none is ''
 * @returns undefined for an address without an extension */
export function splitAddress(written: string, delimiters: string): ExtendedAddress | undefined {
  if (delimiters === '') return undefined
  const address = withoutNeedlessQuotes(written)
  const local = localPartOf(address)
  const at = firstOf(delimiters, local)
  if (at <= 0 || isWhole(local, delimiters)) return undefined
  return { bare: local.slice(0, at) + address.slice(local.length), extension: local.slice(at) }
}

function firstOf(delimiters: string, text: string): number {
  for (let i = 0; i < text.length; i++) if (delimiters.includes(text[i]!)) return i
  return -1
}

/** Addresses of a list's owner, and of its requests, have always been written so.
 * @see Postfix owner_request_special */
const isWhole = (local: string, delimiters: string): boolean =>
  local.startsWith('"') ||
  /^(?:postmaster|mailer-daemon|double-bounce)$/i.test(local) ||
  (delimiters.includes('-') && /^owner-|.-request$/i.test(local))

/** In quotes, where the name is. */
export function withExtension(address: string, extension: string): string {
  const local = localPartOf(address)
  const end = local.endsWith('"') ? local.length - 1 : local.length
  return address.slice(0, end) + extension + address.slice(end)
}

/** Of which, with some extension, the address may be made. */
export function* addressesWithin(address: string, delimiters: string): Generator<string> {
  const local = localPartOf(address)
  const quote = local.startsWith('"') ? '"' : ''
  for (let at = quote.length + 1; at < local.length - quote.length; at++)
    if (delimiters.includes(local[at]!)) yield local.slice(0, at) + quote + address.slice(local.length)
}
