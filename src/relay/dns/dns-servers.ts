/** The servers that are asked what is proven (DNSSEC), and whose word counts.
 * Invariant: nobody is believed over a path on which others may write: of the system's servers
 * those on this machine count, and are then the only ones asked, as others might check nothing; a
 * server elsewhere is believed when it was named for that. What libc does for who has not written
 * `trust-ad` into resolv.conf:
 *    1. the resolver is elsewhere
 *    2. an attacker on the path sets AD, and writes other TLSA records
 *    3. the attacker's server is trusted */
import { Resolver } from 'node:dns'
import { isIP } from 'node:net'
import type { Clock } from '../../base/clock.js'
import { DnsClient, type DnsServer } from './dns-client.js'
import { nexthopParts, plainAddress } from '../tables/mail-destination.js'

const portUsual = 53

/** ADDRESS, or ADDRESS:PORT, in brackets where that has colons.
 * @returns undefined for anything else */
export function readDnsServer(text: string): DnsServer | undefined {
  if (isIP(text) !== 0) return { address: text, port: portUsual, isTrusted: true }
  const parts = nexthopParts(text, portUsual)
  if (parts === undefined || isIP(parts.text) === 0) return undefined
  return { address: parts.text, port: parts.port, isTrusted: true }
}

/** As /etc/resolv.conf has them now: c-ares reads it when a resolver is made (64 µs)
 * and never again. */
export const systemDnsServers = (): readonly DnsServer[] => trustedOf(new Resolver().getServers())

export function trustedOf(system: readonly string[]): readonly DnsServer[] {
  const all = system.flatMap((text) => readDnsServer(text) ?? [])
  const here = all.filter(({ address }) => isHere(address))
  return here.length > 0 ? here : all.map((server) => ({ ...server, isTrusted: false }))
}

function isHere(address: string): boolean {
  const plain = plainAddress(address)
  return plain === '::1' || plain.startsWith('127.')
}

/** By the root, which is signed. @returns why nothing that it says is proven */
export async function proofTroubleOf(server: DnsServer, clock: Clock): Promise<string | undefined> {
  if (!server.isTrusted) return 'it is not on this machine, and was not named as one to trust'
  const client = new DnsClient([server], clock)
  try {
    const { isProven } = await client.ask('SOA', '.')
    return isProven ? undefined : 'it does not validate: of the root, which is signed, it says nothing proven'
  } catch (error) {
    return `it does not answer: ${error instanceof Error ? error.message : String(error)}`
  } finally {
    client.close()
  }
}
