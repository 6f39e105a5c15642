/** Chooses the addresses of this machine from which mail leaves. Pure.
 * Invariant: a family without a named address is not used at all: an operator that names only an
 * IPv4 address has no good name for IPv6. */
import { isIP } from 'node:net'
import { WaybillError } from '../../errors.js'

/** By family; undefined: the system chooses, and uses both. */
export type SourceAddresses = ReadonlyMap<number, string> | undefined

/** @throws WaybillError OPTION_INVALID */
export function sourceAddressesOf(texts: readonly string[] | undefined): SourceAddresses {
  if (texts === undefined) return undefined
  const bad = (reason: string): WaybillError =>
    new WaybillError('OPTION_INVALID', reason, { option: 'sourceAddresses' })
  if (!Array.isArray(texts) || texts.length === 0) throw bad('expected an address of IPv4, of IPv6, or both')
  const sources = new Map<number, string>()
  for (const text of texts) {
    const family = typeof text === 'string' ? isIP(text) : 0
    if (family === 0) throw bad(`${JSON.stringify(text)} is no address`)
    if (sources.has(family)) throw bad(`two addresses of IPv${family}`)
    sources.set(family, text)
  }
  return sources
}

/** Over which servers are reached, the best first. */
export const familiesUsed = (sources: SourceAddresses): (4 | 6)[] =>
  ([6, 4] as const).filter((family) => sources?.has(family) !== false)

/** A server at this address can be reached. */
export const isReachedFrom = (sources: SourceAddresses, address: string): boolean =>
  sources === undefined || sources.has(isIP(address))

/** @returns in the order in which they are tried; undefined is for the system to choose; none where
 * a server at this address is not reached */
export function sourcesFor(sources: SourceAddresses, host: string): readonly (string | undefined)[] {
  if (sources === undefined) return [undefined]
  const family = isIP(host)
  return (family === 0 ? familiesUsed(sources) : [family]).flatMap((each) => sources.get(each) ?? [])
}

/** `IPv4`, `IPv6`, or both. */
export const familiesOf = (sources: SourceAddresses): string =>
  familiesUsed(sources)
    .map((family) => `IPv${family}`)
    .join(' or ')
