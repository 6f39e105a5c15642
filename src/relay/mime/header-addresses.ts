/** Reads the addresses in a header, adds the domains that local programs leave out, and puts others
 * in their place. Pure.
 * Example: cron's `From: root (Cron Daemon)`.
 * Invariant: nothing else changes; an unreadable field stays as it is. No address of a field is
 * skipped, even without a comma: `a@b c@d` are two. Invalid addresses are passed on, and refused by
 * the server.
 * @see Postfix append_at_myorigin */
import { utf8Text } from '../../base/text.js'

/** Whose addresses are senders, in lower case. @see Postfix header_opts.c, HDR_OPT_SENDER */
export const senderFields: ReadonlySet<string> = new Set([
  'from',
  'sender',
  'reply-to',
  'errors-to',
  'return-receipt-to',
  'disposition-notification-to',
  'mail-followup-to',
  'resent-from',
  'resent-sender',
  'resent-reply-to',
])

/** In lower case. */
export const addressFields: ReadonlySet<string> = new Set([
  ...senderFields,
  'to',
  'cc',
  'resent-to',
  'resent-cc',
])

/** What ends a word. */
const specials: ReadonlySet<string> = new Set('"()<>[],;:')

/** A character may stand for an octet: 0xA0, a blank to `\s`, is a part of `à`. */
const isBlank = (char: string | undefined): boolean => char !== undefined && /[\t-\r ]/.test(char)

/** Tokens: quoted, a comment with those in it, in angle brackets, an address literal, a separator,
 * space, a word. Not by one regular expression: that needs stack for each octet.
 * @returns undefined if something is not closed */
function tokensOf(text: string): string[] | undefined {
  const tokens: string[] = []
  for (let at = 0; at < text.length;) {
    const end = tokenEnd(text, at)
    if (end === undefined) return undefined
    tokens.push(text.slice(at, end))
    at = end
  }
  return tokens
}

/** @returns where the token ends that begins at `start` */
function tokenEnd(text: string, start: number): number | undefined {
  const first = text[start]!
  if (first === '"' || first === '(') return closedEnd(text, start)
  if (first === '<' || first === '[') {
    const close = first === '<' ? '>' : ']'
    let end = start + 1
    while (end < text.length && text[end] !== close && text[end] !== first) end++
    if (text[end] === close) return end + 1
    return first === '[' ? start + 1 : undefined
  }
  if (specials.has(first)) return start + 1
  const isSpace = isBlank(first)
  let end = start + 1
  while (end < text.length && isBlank(text[end]) === isSpace && !specials.has(text[end]!)) end++
  return end
}

/** Of quoted text, or a comment. @returns undefined if it is not closed. A comment that is not
 * closed is the rest of the text if no address is in it. */
function closedEnd(text: string, start: number): number | undefined {
  const isComment = text[start] === '('
  let depth = 1
  for (let at = start + 1; at < text.length; at++) {
    const char = text[at]
    if (char === '\\') at++
    else if (isComment && char === '(') depth++
    else if (char === (isComment ? ')' : '"') && --depth === 0) return at + 1
  }
  return isComment && !text.includes('@', start) ? text.length : undefined
}

/** The parts between commas and ends of groups, without names of groups. */
function membersOf(tokens: readonly string[]): string[][] {
  const members: string[][] = [[]]
  for (const part of tokens) {
    if (part === ',' || part === ';') members.push([])
    else if (part === ':') members[members.length - 1] = []
    else members.at(-1)!.push(part)
  }
  return members
}

/** @param text a field behind its name. Text without an address (`list not shown`) is no
 * address. */
export const addressesIn = (text: string): string[] => addressesBetween(text, (tokens) => tokens)

/** Addresses in names of groups, too: `ada@b: c@d` are two. */
export const addressesAnywhereIn = (text: string): string[] =>
  addressesBetween(text, (tokens) => tokens.map((part) => (part === ':' ? ',' : part))).filter((address) =>
    address.includes('@'),
  )

function addressesBetween(text: string, marked: (tokens: readonly string[]) => readonly string[]): string[] {
  const tokens = tokensOf(text) ?? tokensOf(closed(text))
  return tokens === undefined
    ? [text.replace(/\s+/g, ' ').trim()]
    : membersOf(marked(tokens)).flatMap(addressesOf)
}

/** Repairs angle brackets that some programs double, or do not close. */
function closed(text: string): string {
  const single = text.replace(/<[\s<]*</g, '<').replace(/>[\s>]*>/g, '>')
  return single.lastIndexOf('<') > single.lastIndexOf('>') ? `${single}>` : single
}

/** In angle brackets, and bare ones behind the last of these: a bare one before them is a name. */
function addressesOf(member: readonly string[]): string[] {
  const last = member.findLastIndex((part) => part.startsWith('<'))
  if (last < 0) return bareAddresses(member)
  const bracketed = member.filter((part) => part.startsWith('<')).map(innerAddress)
  const behind = wordsOf(member.slice(last + 1)).filter((word) => isNamed(word, false))
  return [...bracketed.filter((address) => address !== ''), ...behind.map((word) => word.join(''))]
}

/** @param part with its angle brackets */
function innerAddress(part: string): string {
  const inner = part
    .slice(1, -1)
    .trim()
    .replace(/^@[^:]*:/, '')
  const tokens = tokensOf(inner)
  return tokens === undefined
    ? inner
    : wordsOf(tokens)
        .map((word) => word.join(''))
        .join(' ')
}

/** Adjacent tokens are one address, also those with blanks and comments around a dot or an @ (RFC
 * 5322 §4.4); beside others, or quoted, a token without @ is a name. */
function bareAddresses(member: readonly string[]): string[] {
  const words = wordsOf(member)
  return words
    .filter((word) => isNamed(word, words.length === 1))
    .map((word) => word.join('').replace(/^\\(?=[^\\]*$)/, ''))
}

const isNamed = (word: readonly string[], isAlone: boolean): boolean =>
  word.some((part) => !part.startsWith('"') && (isAlone || part.includes('@')))

/** Without blanks and comments. */
const wordsOf = (tokens: readonly string[]): string[][] =>
  wordPlaces(tokens).map((places) => places.map((at) => tokens[at]!))

/** Where the tokens of each word are, without blanks and comments. */
function wordPlaces(tokens: readonly string[]): number[][] {
  const words: number[][] = []
  let isApart = true
  for (const [at, part] of tokens.entries()) {
    if (part.startsWith('(')) continue
    if (isBlank(part[0])) {
      isApart = true
      continue
    }
    const before = words.at(-1)
    const isJoined = before !== undefined && (/[.@]$/.test(tokens[before.at(-1)!]!) || /^[.@]/.test(part))
    if (before === undefined || (isApart && !isJoined)) words.push([at])
    else before.push(at)
    isApart = false
  }
  return words
}

/** Nearly all: one address with its domain, with a name before it or without. A long field is read
 * token by token, because the expression may go back over each of its blanks. */
const plainField = /^[^:]+:(?:[^"(),:;<>@[\]]*<)?[^"(),:;<>@[\]]+@[^\s"(),:;<>@[\]]+>?\s*$/
const plainLengthMax = 400

/** @param text the whole field, with its name and line ends */
export const qualifiedField = (text: string, origin: string): string =>
  text.length < plainLengthMax && plainField.test(text)
    ? text
    : withMembers(text, (tokens) => qualifiedAddress(tokens, origin))

/** Each address becomes what `shown` says; names, comments and folding stay.
 * @param text the whole field; latin1 that stands for octets */
export const shownField = (text: string, shown: (address: string) => string): string =>
  withMembers(text, (tokens) => shownAddresses(tokens, (octets) => octetsOf(octets, shown)))

function octetsOf(octets: string, shown: (address: string) => string): string {
  const address = utf8Text(Buffer.from(octets, 'latin1'))
  // Octets that are no text are nobody's address here.
  if (address === undefined) return octets
  const became = shown(address)
  return became === address ? octets : Buffer.from(became).toString('latin1')
}

/** An unreadable field stays as it is. @param change the tokens between commas and ends of
 * groups */
function withMembers(text: string, change: (tokens: readonly string[]) => string): string {
  const start = text.indexOf(':') + 1
  const tokens = tokensOf(text.slice(start))
  if (tokens === undefined) return text
  let changed = text.slice(0, start)
  let member: string[] = []
  for (const part of tokens) {
    if (part === ',' || part === ';') changed += change(member) + part
    // The name of a group.
    else if (part === ':') changed += member.join('') + part
    else {
      member.push(part)
      continue
    }
    member = []
  }
  return changed + change(member)
}

/** Beside angle brackets a bare address is a name. Of an address that becomes another one comments
 * and blanks stay, behind it. */
function shownAddresses(tokens: readonly string[], shown: (address: string) => string): string {
  const became = [...tokens]
  const show = (address: string, places: readonly number[], left = '', right = ''): void => {
    const one = shown(address)
    if (one !== address)
      for (const [i, at] of places.entries()) became[at] = i === 0 ? left + one + right : ''
  }
  if (!tokens.some((part) => part.startsWith('<')))
    for (const places of wordPlaces(tokens)) {
      const parts = places.map((at) => tokens[at]!)
      if (isNamed(parts, false)) show(parts.join(''), places)
    }
  else
    for (const [at, part] of tokens.entries())
      if (part.startsWith('<')) show(innerAddress(part), [at], '<', '>')
  return became.join('')
}

function qualifiedAddress(tokens: readonly string[], origin: string): string {
  const isBare = (part: string): boolean => /^[^\t-\r "()<>@]+$/.test(part)
  const bracketed = tokens.findIndex((part) => part.startsWith('<'))
  const words = tokens.filter((part) => !/^[\t-\r (]/.test(part))
  const at = bracketed >= 0 ? bracketed : words.length === 1 ? tokens.indexOf(words[0]!) : -1
  return tokens
    .map((part, i) => {
      if (i !== at) return part
      if (part.startsWith('<')) return isBare(part.slice(1, -1)) ? `${part.slice(0, -1)}@${origin}>` : part
      return isBare(part) ? `${part}@${origin}` : part
    })
    .join('')
}
