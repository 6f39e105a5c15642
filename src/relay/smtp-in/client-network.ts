/** Whose sessions are counted together. Pure.
 * Invariant: of IPv6 the first 64 bits, for one machine has all addresses behind them (RFC 4291 §2.5.1, RFC 8981); of IPv4 the address.
 * @see Postfix smtpd_client_ipv6_prefix_length, which is 84 */
import { isIPv6 } from 'node:net'

const groupCount = 8
const networkGroupCount = 4

/** @param address as smtp-server has it: an IPv4 client's is IPv4, whatever the socket. @returns the address, or `2001:db8:0:1::/64` */
export function clientNetwork(address: string): string {
  if (!isIPv6(address)) return address
  const [head = [], tail] = address.split('::').map((part) => (part === '' ? [] : part.split(':')))
  const given = [...head, ...(tail ?? [])]
  const gap = Array.from({ length: groupCount - given.length }, () => '0')
  const groups = tail === undefined ? given : [...head, ...gap, ...tail]
  return `${groups.slice(0, networkGroupCount).join(':')}::/64`
}
