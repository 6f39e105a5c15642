/** Whether a mail host is ourselves.
 * Invariant: a host is ours that bears our name, or has an address and a port at which we take mail. Mail that is given to oneself comes
 * back, with a Received field more, until somebody counts them. */
import { networkInterfaces } from 'node:os'
import { asciiName, plainAddress } from './mail-destination.js'

export interface OwnServers {
  /** What we call ourselves. */
  readonly hostname: string
  /** Where we take mail; `0.0.0.0` and `::` stand for all addresses of this machine. */
  readonly listeners: readonly { readonly host: string; readonly port: number }[]
}

export const isOwnName = ({ hostname }: OwnServers, name: string): boolean => asciiName(hostname) === name

export function isOwnAddress({ listeners }: OwnServers, address: string, port: number): boolean {
  const plain = plainAddress(address)
  return listeners.some((listener) => {
    if (listener.port !== port) return false
    const isEvery = listener.host === '0.0.0.0' || listener.host === '::'
    return isEvery ? isOfThisMachine(plain) : plainAddress(listener.host) === plain
  })
}

/** Asked each time: addresses come and go. All of 127.0.0.0/8 is this machine. */
const isOfThisMachine = (address: string): boolean =>
  address.startsWith('127.') ||
  Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some((own) => plainAddress(own.address) === address),
  )
