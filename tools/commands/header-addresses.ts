/** Addresses without a domain in the header of a message from this machine: cron's `From: root (Cron Daemon)`. Pure.
 * Invariant: a domain is added and nothing else is changed; a field that cannot be read stays as it is.
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

/** Quoted, a comment, in angle brackets, between two addresses, space, a word. */
const token = /"(?:[^"\\]|\\[^])*"|\((?:[^()\\]|\\[^])*\)|<[^<>]*>|[,;:]|\s+|[^\s"()<>,;:]+/y

/** @param text the whole field, with its name and line ends */
export function qualifiedField(text: string, origin: string): string {
  const start = text.indexOf(':') + 1
  const tokens: string[] = []
  token.lastIndex = start
  for (let match = token.exec(text); match !== null; match = token.exec(text)) tokens.push(match[0])
  if (tokens.join('').length < text.length - start) return text
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
