/** The table of aliases, like Postfix's virtual_alias_maps: from an address to other addresses. A
 * line begins with `user@example.com`, or with `@example.com` for users there without a line.
 * Behind that stand addresses, or `@example.net` for the same user there. An address without a
 * line for its extension has the line without it, and the extension is added to the addresses
 * there. Pure.
 * Invariant: an address becomes what its line says, and that what its lines say, until there is
 * none or a line names the address itself, which then is one of them. In a table that was read no
 * other way leads back:
 *    1. `a` stands for `b`, and `b` for `a`
 *    2. what is met a second time is passed over
 *    3. the message has no recipient, and no report is made */
import { domainToUnicode } from 'node:url'
import { addressBytesMax, domainOf, isInternational, isMailAddress } from '../../base/mail-address.js'
import { WaybillError, type Place } from '../../errors.js'
import { addressesWithin, splitAddress, withExtension } from './address-extension.js'
import { addressKey, localPartOf, patternKey } from './address-pattern.js'
import { asciiName } from './nexthop.js'
import { tableLines } from './table-lines.js'

/** An address, or `@domain`. */
interface Target {
  readonly address: string
  /** Of address-pattern.ts: what it is known by. */
  readonly key: string
}

type Lines = ReadonlyMap<string, readonly Target[]>

/** At least one line. It can be told to another thread. */
export interface Aliases {
  /** What stands behind an address, or behind `@domain`, by its key. */
  readonly lines: Lines
  /** Keys of all that stands there. */
  readonly targetKeys: ReadonlySet<string>
  /** What stands before an extension; '' when there are none.
   * @see Postfix recipient_delimiter, propagate_unmatched_extensions */
  readonly delimiters: string
  /** Addresses that one may become, when that was said; else `expansionCountMax`. */
  readonly countMax?: number
}

type Table = Omit<Aliases, 'targetKeys'>

/** Lines that one may lead through. @see Postfix virtual_alias_recursion_limit */
const nestingMax = 1000
/** Addresses that one may become, by default. @see Postfix virtual_alias_expansion_limit */
const expansionCountMax = 1000
const countMaxOf = ({ countMax = expansionCountMax }: Pick<Table, 'countMax'>): number => countMax
/** An address may lead through this many times as many lines as it may become addresses. Without
 * this bound, mail to a thousand aliases that each lead through a thousand lines asks for a
 * million. */
const metPerEnd = 10

/** A line goes on behind one that begins with a blank.
 * @param delimiters of address-extension.ts, default none
 * @param countMax addresses that one may become, default 1000
 * @throws WaybillError OPTION_INVALID with path and line */
export function aliasesIn(text: string, path: string, delimiters = '', countMax?: number): Aliases {
  const lines = new Map<string, Target[]>()
  const places = new Map<string, Place>()
  const option = 'aliases'
  let targets: Target[] | undefined
  for (const { text: line, place } of tableLines(text, option, path)) {
    const bad = (reason: string): WaybillError => new WaybillError('OPTION_INVALID', reason, place)
    const words = line.match(word) ?? []
    if (!/^\s/.test(line)) {
      const left = words.shift() ?? ''
      // In `info@example.com, sales@example.com ada@example.com` somebody means two.
      const key = /^(?:\s|$)/.test(line.slice(left.length)) ? sideKey(left) : undefined
      if (key === undefined)
        throw bad(
          `${/^\S*/.exec(line)![0]} is no address and no @domain: an alias is a line user@example.com ADDRESS, ADDRESS …`,
        )
      if (lines.has(key)) throw bad(`${left} has a line above`)
      lines.set(key, (targets = []))
      places.set(key, place)
    }
    if (targets === undefined) throw bad('a line that begins with a blank goes on with the one above')
    for (const right of words) {
      if (sideKey(right) === undefined) throw bad(`${right} is no address and no @domain`)
      targets.push(targetOf(addressAt(localPartOf(right), right.slice(right.lastIndexOf('@') + 1))))
    }
  }
  for (const [key, { length }] of lines)
    if (length === 0)
      throw new WaybillError('OPTION_INVALID', `behind ${key} there is no address`, places.get(key))
  if (lines.size === 0) throw new WaybillError('OPTION_INVALID', 'there is no alias', { option, path })
  const table: Table = { lines, delimiters, ...(countMax === undefined ? undefined : { countMax }) }
  checkLines(table, places)
  const targetKeys = new Set([...lines.values()].flat().map(({ key }) => key))
  return { ...table, targetKeys }
}

/** Between commas and blanks, except those in quotes. */
const word = /(?:"(?:[^"\\]|\\.)*"|[^\s,])+/g

/** Of an address, or of `@domain`. */
function sideKey(text: string): string | undefined {
  if (!text.startsWith('@')) return text.includes('@') ? patternKey(text) : undefined
  const key = patternKey(text.slice(1))
  return key === undefined || /^\.|[@[]/.test(key) ? undefined : `@${key}`
}

function targetOf(address: string): Target {
  const key = addressKey(address)
  return { address, key: key === address ? address : key }
}

/** Letters outside ASCII in a domain go with such letters before it. */
const addressAt = (local: string, domain: string): string =>
  `${local}@${isInternational(local) ? domainToUnicode(asciiName(domain)) : asciiName(domain)}`

/** Where an address is said to be: in its own line, in that without its extension, in its domain's
 * for all others, or in one that says nothing but where else each of them is. */
export type LineKind = 'own' | 'without extension' | 'domain' | 'same users'

export function lineFor(table: Table, address: string): LineKind | undefined {
  const line = lineOf(table, targetOf(address))
  if (line === undefined) return undefined
  if (!line.key.startsWith('@')) return line.extension === '' ? 'own' : 'without extension'
  return table.lines.get(line.key)!.every((target) => isDomain(target)) ? 'same users' : 'domain'
}

const isDomain = ({ key }: Target): boolean => key.startsWith('@')

/** Might mail for the address have been for an alias? */
export function isTarget({ targetKeys, delimiters }: Aliases, address: string): boolean {
  const key = addressKey(address)
  if (targetKeys.has(key) || targetKeys.has(domainPart(key))) return true
  for (const within of addressesWithin(key, delimiters)) if (targetKeys.has(within)) return true
  return false
}

const domainPart = (key: string): string => key.slice(key.lastIndexOf('@'))

/** By their keys, each once, at least one. */
export type Expansion = ReadonlyMap<string, string>

/** @returns the address as it stands when it has no line; undefined when what it becomes is too
 * much, or too long */
export function expanded(table: Table, address: string): Expansion | undefined {
  const ends = new Map<string, string>()
  const met = new Set<string>()
  const isEnd = ({ key, address: end }: Target): boolean => {
    ends.set(key, end)
    return ends.size <= countMaxOf(table) && isMailAddress(end)
  }
  const follow = (one: Target, depth: number): boolean => {
    if (met.has(one.key)) return true
    met.add(one.key)
    // An extension may be put on again and again. @see Postfix virtual_alias_address_length_limit
    if (met.size > metPerEnd * countMaxOf(table) || one.address.length > addressBytesMax) return false
    const line = lineOf(table, one)
    if (line === undefined) return isEnd(one)
    return (
      depth < nestingMax &&
      targetsOf(table, one, line).every((target) =>
        target.key === one.key ? isEnd(target) : follow(target, depth + 1),
      )
    )
  }
  return follow(targetOf(address), 0) && ends.size > 0 ? ends : undefined
}

/** Which line says what becomes of an address. */
interface Line {
  readonly key: string
  /** That it has not: it goes on to what stands there. */
  readonly extension: string
}

function lineOf({ lines, delimiters }: Table, { address, key }: Target): Line | undefined {
  if (lines.has(key)) return { key, extension: '' }
  const bare = splitAddress(key, delimiters)?.bare
  if (bare !== undefined && lines.has(bare))
    return { key: bare, extension: splitAddress(address, delimiters)?.extension ?? '' }
  const domain = domainPart(key)
  return lines.has(domain) ? { key: domain, extension: '' } : undefined
}

function targetsOf({ lines }: Table, { address }: Target, { key, extension }: Line): readonly Target[] {
  return lines.get(key)!.map((target) => {
    if (isDomain(target)) return targetOf(addressAt(localPartOf(address), target.key.slice(1)))
    if (extension === '') return target
    const extended = withExtension(target.address, extension)
    return targetOf(addressAt(localPartOf(extended), domainOf(extended)))
  })
}

/** What is a key already. */
const asTarget = (key: string): Target => ({ address: key, key })

/** A user without a line, and an extension without a line. */
const anybody = '\0'
const anything = '\uffff'

/** What an address becomes, at the most, and the lines that lead there. */
interface Extent {
  readonly count: number
  readonly nesting: number
}

/** Every way that leads back goes through a line for an address, as it is or with anything behind
 * the name, or through lines for domains alone: then anybody's does. An address in its own line is
 * an end: going on would come back, or, with extensions, never end.
 * @throws WaybillError OPTION_INVALID with path and line */
function checkLines(table: Table, places: ReadonlyMap<string, Place>): void {
  const { lines, delimiters } = table
  const countMax = countMaxOf(table)
  const extents = new Map<string, Extent | 'open'>()
  const extentOf = (one: Target, by: string, depth: number): Extent => {
    const line = lineOf(table, one)
    if (line === undefined) return { count: 1, nesting: 0 }
    // With anything behind the name it is the same way, whatever was put before it: `ada ada+lists`
    // leads back.
    const key = line.extension.endsWith(anything) ? line.key + anything : one.key
    const known = extents.get(key)
    if (known !== undefined && known !== 'open') return known
    const bad = (reason: string): WaybillError =>
      new WaybillError('OPTION_INVALID', `${line.key} ${reason}`, places.get(line.key))
    if (known === 'open') throw bad(`leads back to itself, by way of ${by}`)
    const targets = targetsOf(table, one, line)
    let extent: Extent = { count: targets.length, nesting: 1 }
    const namesItself = targets.some((target) => target.key === one.key)
    if (namesItself && (!line.key.startsWith('@') || one.address.includes(anything))) {
      const became = expanded(table, one.address)
      if (became === undefined)
        throw bad(`stands for more than ${countMax} addresses, or leads through too many lines`)
      extent = { count: became.size, nesting: 1 }
    } else if (!namesItself && targets.some((target) => lineOf(table, target) !== undefined)) {
      if (depth === nestingMax) throw bad(`leads through more than ${nestingMax} lines`)
      extents.set(key, 'open')
      const ends = targets.map((target) => extentOf(target, line.key, depth + 1))
      extent = {
        count: ends.reduce((sum, { count }) => sum + count, 0),
        nesting: 1 + Math.max(...ends.map(({ nesting }) => nesting)),
      }
    }
    if (extent.count > countMax) throw bad(`stands for more than ${countMax} addresses`)
    if (extent.nesting > nestingMax) throw bad(`leads through more than ${nestingMax} lines`)
    // Most lines lead nowhere else, and nobody leads to them.
    if (depth > 0 || extent.nesting > 1) extents.set(key, extent)
    return extent
  }
  for (const line of lines.keys()) {
    if (line.startsWith('@')) extentOf(asTarget(anybody + line), line, 0)
    else {
      // First: `ada ada+lists` becomes longer and longer, and leads back nowhere.
      if (delimiters !== '') extentOf(asTarget(withExtension(line, delimiters[0] + anything)), line, 0)
      extentOf(asTarget(line), line, 0)
    }
  }
}
