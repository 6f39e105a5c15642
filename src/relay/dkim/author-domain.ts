/** Finds the domain of a message's author in its From field. Pure.
 * Invariant: one author, or none. Whatever a name looks like, the address is what stands in angle
 * brackets behind it; a field that is a list or a group, or that the grammar (RFC 5322 §3.4) does
 * not know, is read by some so and by others so: it has none. */
import { domainOf, isMailAddress } from '../../base/mail-address.js'
import { asciiName } from '../tables/nexthop.js'
import type { HeaderField } from '../../base/header.js'

/** Names, quoted or not, before an address in angle brackets. A comma, a colon or a semicolon makes
 * a list of it, or a group. */
const inBrackets = /^(?:[^"<>(),;:\\]|"(?:[^"\\]|\\.)*")*<([^<>]*)>$/s

/** @returns as the DNS has it; undefined when there is no From field, more than one, no author in
 * it, or more than one */
export function authorDomain(fields: readonly HeaderField[]): string | undefined {
  const [field, ...others] = fields.filter(({ name }) => name === 'from')
  if (field === undefined || others.length > 0) return undefined
  const text = withoutComments(Buffer.from(field.value, 'latin1').toString())?.trim()
  if (text === undefined) return undefined
  const address = inBrackets.exec(text)?.[1]?.trim() ?? text
  return isMailAddress(address) ? asciiName(domainOf(address)) : undefined
}

/** A blank stands for each. @returns undefined when one has no end */
function withoutComments(text: string): string | undefined {
  let kept = ''
  let depth = 0
  let isQuoted = false
  for (let i = 0; i < text.length; i++) {
    const character = text[i]!
    const pair = character === '\\' && (isQuoted || depth > 0) ? character + (text[++i] ?? '') : undefined
    if (depth === 0) {
      if (pair === undefined && character === '"') isQuoted = !isQuoted
      if (isQuoted || character !== '(') {
        kept += pair ?? character
        continue
      }
      kept += ' '
    }
    if (pair !== undefined) continue
    if (character === '(') depth++
    if (character === ')') depth--
  }
  return depth === 0 && !isQuoted ? kept : undefined
}
