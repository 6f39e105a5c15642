/** A port that is answered.
 * Invariant: `host` and `port` are those that the system gave. */
import type { AddressInfo, ListenOptions, Server } from 'node:net'
import { versions } from 'node:process'

export interface Bound {
  readonly host: string
  readonly port: number
}

export interface Listener extends Bound {
  /** Drops the port and every connection. */
  close(): void
}

/** Of Node. */
const sharesFrom = [23, 1] as const

/** Can several processes listen on one port? */
export function canSharePorts(node: string = versions.node): boolean {
  const [major = 0, minor = 0] = node.split('.').map(Number)
  return major > sharesFrom[0] || (major === sharesFrom[0] && minor >= sharesFrom[1])
}

export interface HowToListen {
  /** With other processes of this user that say so, too: the kernel gives each connection to one of
   * them (SO_REUSEPORT, `canSharePorts`). */
  readonly sharesPort?: boolean
  /** `::` is all addresses of IPv6, and not those of IPv4 as well. */
  readonly isIpv6Alone?: boolean
}

/** Resolves when the server answers. @param port 0 takes any free one
 * @throws the system's error when the port cannot be had */
export async function listening(
  server: Server,
  host: string,
  port: number,
  { sharesPort = false, isIpv6Alone = false }: HowToListen = {},
): Promise<Bound> {
  const options: ListenOptions & { readonly reusePort?: boolean } = {
    host,
    port,
    reusePort: sharesPort,
    ipv6Only: isIpv6Alone,
  }
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options, () => {
      server.removeListener('error', reject)
      resolve()
    })
  })
  const bound = server.address() as AddressInfo
  return { host: bound.address, port: bound.port }
}
