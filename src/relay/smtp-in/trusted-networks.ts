/** Clients that may relay: addresses and networks. */
import { BlockList, isIP } from 'node:net'
import { WaybillError } from '../../errors.js'

export const loopbackNetworks: readonly string[] = ['127.0.0.0/8', '::1']

/** @param networks addresses or networks in CIDR form, IPv4 and IPv6
 * @returns whether an address is in one of them; an IPv4 address may be mapped to IPv6
 * @throws WaybillError OPTION_INVALID */
export function trustedNetworks(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    const family = isIP(address)
    const prefixMax = family === 4 ? 32 : 128
    const prefix = bits === undefined ? prefixMax : /^\d{1,3}$/.test(bits) ? Number(bits) : Infinity
    if (family === 0 || prefix > prefixMax) {
      throw new WaybillError('OPTION_INVALID', `not an address or network: ${network}`, { option: 'trust' })
    }
    list.addSubnet(address, prefix, family === 4 ? 'ipv4' : 'ipv6')
  }
  const isListed = (address: string): boolean => {
    const family = isIP(address)
    return family !== 0 && list.check(address, family === 4 ? 'ipv4' : 'ipv6')
  }
  // A session asks for each recipient, and making an address object costs more than all else in the answer.
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
