/** Reads the addresses in the header of a local message, and adds missing domains. Pure.
 * Example: cron's `From: root (Cron Daemon)`.
 * Invariant: only domains are added; an unreadable field stays as it is. No address of a field is
 * skipped, even without a comma: `a@b c@d` are two. Invalid addresses are passed on, and refused by
 * the server.
 * @see Postfix append_at_myorigin */

export const addressFields: ReadonlySet<string> = new Set([
  'from',
  'sender',
  'reply-to',
  'to',
  'cc',
  'resent-from',
  'resent-sender',
  'resent-to',
  'resent-cc',
])

/** Quoted, a comment (in one, another), in angle brackets, an address literal, between two
 * addresses, space, a word. */
const token =
  /"(?:[^"\\]|\\[^])*"|\((?:[^()\\]|\\[^]|\((?:[^()\\]|\\[^])*\))*\)|<[^<>]*>|\[[^[\]]*\]|[,;:]|\s+|[^\s"()<>[\],;:]+|[)>[\]]/y

/** @returns undefined if something is not closed */
function tokensOf(text: string): string[] | undefined {
  const tokens: string[] = []
  token.lastIndex = 0
  for (let match = token.exec(text); match !== null; match = token.exec(text)) tokens.push(match[0])
  return tokens.join('').length < text.length ? undefined : tokens
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
export function addressesIn(text: string): string[] {
  const tokens = tokensOf(text) ?? tokensOf(closed(text))
  return tokens === undefined ? [text.replace(/\s+/g, ' ').trim()] : membersOf(tokens).flatMap(addressesOf)
}

/** Repairs angle brackets that some programs double, or do not close. */
function closed(text: string): string {
  const single = text.replace(/<[\s<]*</g, '<').replace(/>[\s>]*>/g, '>')
  return single.lastIndexOf('<') > single.lastIndexOf('>') ? `${single}>` : single
}

function addressesOf(member: readonly string[]): string[] {
  const bracketed = member.filter((part) => part.startsWith('<'))
  const inner = bracketed.map((part) =>
    part
      .slice(1, -1)
      .trim()
      .replace(/^@[^:]*:/, ''),
  )
  return inner.length > 0 ? inner.filter((address) => address !== '') : bareAddresses(member)
}

/** Adjacent tokens are one address; beside others, or quoted, a token without @ is a name. */
function bareAddresses(member: readonly string[]): string[] {
  const words: string[][] = [[]]
  for (const part of member) {
    if (/^\s/.test(part)) words.push([])
    else if (!part.startsWith('(')) words.at(-1)!.push(part)
  }
  const found = words.filter((word) => word.length > 0)
  const isNamed = (word: readonly string[]): boolean =>
    word.some((part) => !part.startsWith('"') && (found.length === 1 || part.includes('@')))
  return found.filter(isNamed).map((word) => word.join(''))
}

/** @param text the whole field, with its name and line ends */
export function qualifiedField(text: string, origin: string): string {
  const start = text.indexOf(':') + 1
  const tokens = tokensOf(text.slice(start))
  if (tokens === undefined) return text
  let qualified = text.slice(0, start)
  let address: string[] = []
  for (const part of tokens) {
    if (part === ',' || part === ';') qualified += qualifiedAddress(address, origin) + part
    // The name of a group.
    else if (part === ':') qualified += address.join('') + part
    else {
      address.push(part)
      continue
    }
    address = []
  }
  return qualified + qualifiedAddress(address, origin)
}

function qualifiedAddress(tokens: readonly string[], origin: string): string {
  const isBare = (part: string): boolean => /^[^\s"()<>@]+$/.test(part)
  const bracketed = tokens.findIndex((part) => part.startsWith('<'))
  const words = tokens.filter((part) => !/^[\s(]/.test(part))
  const at = bracketed >= 0 ? bracketed : words.length === 1 ? tokens.indexOf(words[0]!) : -1
  return tokens
    .map((part, i) => {
      if (i !== at) return part
      if (part.startsWith('<')) return isBare(part.slice(1, -1)) ? `${part.slice(0, -1)}@${origin}>` : part
      return isBare(part) ? `${part}@${origin}` : part
    })
    .join('')
}
