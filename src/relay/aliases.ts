/** Who gets mail for whom, as Postfix's virtual_alias_maps has it: a line is `user@example.com`, or `@example.com` (whoever there has no line
 * of his own), and behind it addresses, or `@example.net` (the same user there). Pure.
 * Invariant: an address becomes what its line says, and that what its lines say, until there is none or a line names the address itself, which
 * then is one of them. In a table that was read no other way leads back:
 *    // 1. `a` stands for `b`, and `b` for `a`  2. what is met a second time is passed over  3. the message has no recipient, and nobody is told */
import { domainToUnicode } from 'node:url'
import { isInternational, isMailAddress } from '../base/mail-address.js'
import { WaybillError, type Place } from '../errors.js'
import { addressKey, localPartOf, patternKey } from './address-pattern.js'
import { asciiName } from './mail-destination.js'
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
}

/** Lines that one may lead through. @see Postfix virtual_alias_recursion_limit */
const nestingMax = 1000
/** Addresses that one may become. @see Postfix virtual_alias_expansion_limit */
const expansionCountMax = 1000
/** Addresses that one may lead through: who writes to a thousand that each lead through a thousand lines asks for a million. */
const metCountMax = 10_000

/** A line goes on behind one that begins with a blank.
 * @throws WaybillError OPTION_INVALID with path and line */
export function aliasesIn(text: string, path: string): Aliases {
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
  checkLines(lines, places)
  return { lines, targetKeys: new Set([...lines.values()].flat().map(({ key }) => key)) }
}

/** Between commas and blanks, but for those in quotes. */
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

/** Has the address a line of its own, or its domain one for all others, or one that says nothing but where else each of them is? */
export function lineFor({ lines }: Aliases, address: string): 'own' | 'domain' | 'same users' | undefined {
  const key = addressKey(address)
  if (lines.has(key)) return 'own'
  const targets = lines.get(domainPart(key))
  return targets && (targets.every((target) => isDomain(target)) ? 'same users' : 'domain')
}

const isDomain = ({ key }: Target): boolean => key.startsWith('@')

/** Might mail for the address have been for an alias? */
export function isTarget({ targetKeys }: Aliases, address: string): boolean {
  const key = addressKey(address)
  return targetKeys.has(key) || targetKeys.has(domainPart(key))
}

const domainPart = (key: string): string => key.slice(key.lastIndexOf('@'))

/** By their keys, each once, at least one. */
export type Expansion = ReadonlyMap<string, string>

/** @returns the address as it stands when it has no line; undefined when what it becomes is too much, or too long */
export function expanded({ lines }: Pick<Aliases, 'lines'>, address: string): Expansion | undefined {
  const ends = new Map<string, string>()
  const met = new Set<string>()
  const isEnd = ({ key, address: end }: Target): boolean => {
    ends.set(key, end)
    return ends.size <= expansionCountMax && isMailAddress(end)
  }
  const follow = (one: Target, depth: number): boolean => {
    if (met.has(one.key)) return true
    met.add(one.key)
    if (met.size > metCountMax) return false
    const targets = targetsOf(lines, one)
    if (targets === undefined) return isEnd(one)
    return (
      depth < nestingMax &&
      targets.every((target) => (target.key === one.key ? isEnd(target) : follow(target, depth + 1)))
    )
  }
  return follow(targetOf(address), 0) && ends.size > 0 ? ends : undefined
}

function targetsOf(lines: Lines, { address, key }: Target): readonly Target[] | undefined {
  const targets = lines.get(key) ?? lines.get(domainPart(key))
  return targets?.map((target) =>
    isDomain(target) ? targetOf(addressAt(localPartOf(address), target.key.slice(1))) : target,
  )
}

/** A user for whom no line is. */
const anybody = '\0'

/** What an address becomes, at the most, and the lines that lead there. */
interface Extent {
  readonly count: number
  readonly nesting: number
}

/** Every way that leads back goes through a line for an address, or through lines for domains alone: then anybody's does. Who is named by
 * his own line is an end: a way through him comes back to what was met.
 * @throws WaybillError OPTION_INVALID with path and line */
function checkLines(lines: Lines, places: ReadonlyMap<string, Place>): void {
  const extents = new Map<string, Extent | 'open'>()
  const extentOf = (one: Target, by: string, depth: number): Extent => {
    const { key } = one
    const known = extents.get(key)
    if (known !== undefined && known !== 'open') return known
    const targets = targetsOf(lines, one)
    if (targets === undefined) return { count: 1, nesting: 0 }
    const line = lines.has(key) ? key : domainPart(key)
    const bad = (reason: string): WaybillError =>
      new WaybillError('OPTION_INVALID', `${line} ${reason}`, places.get(line))
    if (known === 'open') throw bad(`leads back to itself, by way of ${by}`)
    let extent: Extent = { count: targets.length, nesting: 1 }
    if (lines.has(key) && targets.some((target) => target.key === key)) {
      const became = expanded({ lines }, one.address)
      if (became === undefined)
        throw bad(`stands for more than ${expansionCountMax} addresses, or leads through too many lines`)
      extent = { count: became.size, nesting: 1 }
    } else if (targets.every((target) => target.key !== key)) {
      if (depth === nestingMax) throw bad(`leads through more than ${nestingMax} lines`)
      extents.set(key, 'open')
      const ends = targets.map((target) => extentOf(target, line, depth + 1))
      extent = {
        count: ends.reduce((sum, { count }) => sum + count, 0),
        nesting: 1 + Math.max(...ends.map(({ nesting }) => nesting)),
      }
    }
    if (extent.count > expansionCountMax) throw bad(`stands for more than ${expansionCountMax} addresses`)
    if (extent.nesting > nestingMax) throw bad(`leads through more than ${nestingMax} lines`)
    extents.set(key, extent)
    return extent
  }
  for (const line of lines.keys()) extentOf(targetOf(line.startsWith('@') ? anybody + line : line), line, 0)
}
