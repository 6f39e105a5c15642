/** A port of this machine for a process that has to be given its number. */
import { createServer, type AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'

/** Free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** Containers often have none. */
export const hasIpv6: boolean = Object.values(networkInterfaces()).some((own) =>
  own?.some(({ family }) => family === 'IPv6'),
)
