/** Whether a mail host is ourselves.
 * Invariant: a host is ours that bears our name, or has an address and a port at which we
 * take mail. Mail that is given to oneself comes back, with a Received field more, until
 * somebody counts them. */
import { networkInterfaces } from 'node:os'
import { asciiName, plainAddress } from '../tables/mail-destination.js'

export interface OwnServers {
  /** What we call ourselves. */
  readonly hostname: string
  /** Where we take mail; `0.0.0.0` and `::` stand for all addresses of this machine. */
  readonly listeners: readonly { readonly host: string; readonly port: number }[]
}

export const isOwnName = ({ hostname }: OwnServers, name: string): boolean => asciiName(hostname) === name

/** Asked once an attempt: addresses come and go, and the system takes a fraction of a millisecond
 * to tell them. All of 127.0.0.0/8 is this machine.
 * @returns whether mail comes in here at an address */
export function ownAddresses({ listeners }: OwnServers, port: number): (address: string) => boolean {
  const hosts = listeners.filter((listener) => listener.port === port).map(({ host }) => host)
  if (hosts.length === 0) return () => false
  const isEvery = hosts.some((host) => host === '0.0.0.0' || host === '::')
  const own = new Set((isEvery ? [...hosts, ...addressesOfThisMachine()] : hosts).map(plainAddress))
  return (address) => {
    const plain = plainAddress(address)
    return own.has(plain) || (isEvery && plain.startsWith('127.'))
  }
}

const addressesOfThisMachine = (): string[] =>
  Object.values(networkInterfaces()).flatMap((addresses = []) => addresses.map(({ address }) => address))
