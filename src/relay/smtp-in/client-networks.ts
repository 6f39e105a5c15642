/** Networks of clients: which may relay, which are balancers, and whose sessions are counted
 * together. Pure.
 * Invariant: of IPv6 the first 64 bits are one client, for one machine has all addresses behind
 * them (RFC 4291 §2.5.1, RFC 8981); of IPv4 the address is.
 * @see Postfix mynetworks, and smtpd_client_ipv6_prefix_length, which is 84 */
import { BlockList, isIP, isIPv6 } from 'node:net'
import { WaybillError } from '../../errors.js'

export const loopbackNetworks: readonly string[] = ['127.0.0.0/8', '::1']

/** @param networks addresses or networks in CIDR form, IPv4 and IPv6 @param option that names them
 * @returns whether an address is in one of them; an IPv4 address may be mapped to IPv6
 * @throws WaybillError OPTION_INVALID */
export function networkList(networks: readonly string[], option = 'trust'): (address: string) => boolean {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    const family = isIP(address)
    const prefixMax = family === 4 ? 32 : 128
    const prefix = bits === undefined ? prefixMax : /^\d{1,3}$/.test(bits) ? Number(bits) : Infinity
    if (family === 0 || prefix > prefixMax) {
      throw new WaybillError('OPTION_INVALID', `not an address or network: ${network}`, { option })
    }
    if (hasHostBits(address, family, prefix))
      throw new WaybillError('OPTION_INVALID', `not a network: ${network} has bits behind its prefix`, {
        option,
      })
    list.addSubnet(address, prefix, family === 4 ? 'ipv4' : 'ipv6')
  }
  const isListed = (address: string): boolean => {
    const family = isIP(address)
    return family !== 0 && list.check(address, family === 4 ? 'ipv4' : 'ipv6')
  }
  // A session asks for each recipient, and making an address object costs more than all else in the
  // answer.
  let lastAddress = ''
  let isLastListed = false
  return (address) => {
    if (address !== lastAddress) {
      isLastListed = isListed(address)
      lastAddress = address
    }
    return isLastListed
  }
}

/** `10.0.0.1/8` may mean the address or the network: nobody is trusted by a slip of the hand. */
function hasHostBits(address: string, family: number, prefix: number): boolean {
  const bits = bitsOf(address, family)
  return bits.slice(prefix).includes('1')
}

function bitsOf(address: string, family: number): string {
  if (family === 4)
    return address
      .split('.')
      .map((octet) => Number(octet).toString(2).padStart(8, '0'))
      .join('')
  const { hostname } = new URL(`http://[${address.replace(/%.*$/, '')}]`)
  return groupsOf(hostname.slice(1, -1))
    .map((group) => Number.parseInt(group, 16).toString(2).padStart(16, '0'))
    .join('')
}

const groupCount = 8
const networkGroupCount = 4

/** @param address as smtp-server has it: an IPv4 client's is IPv4, whatever the socket.
 * @returns the address, or `2001:db8:0:1::/64` */
export function clientNetwork(address: string): string {
  if (!isIPv6(address)) return address
  return `${groupsOf(address).slice(0, networkGroupCount).join(':')}::/64`
}

function groupsOf(address: string): string[] {
  const [head = [], tail] = address.split('::').map((part) => (part === '' ? [] : part.split(':')))
  const given = [...head, ...(tail ?? [])]
  const gap = Array.from({ length: groupCount - given.length }, () => '0')
  return tail === undefined ? given : [...head, ...gap, ...tail]
}
