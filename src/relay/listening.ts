/** A port that is answered.
 * Invariant: `host` and `port` are those that the system gave. */
import type { AddressInfo, Server } from 'node:net'

export interface Bound {
  readonly host: string
  readonly port: number
}

export interface Listener extends Bound {
  /** Drops the port and every connection. */
  close(): void
}

/** Resolves when the server answers. @param port 0 takes any free one
 * @throws the system's error when the port cannot be had */
export async function listening(server: Server, host: string, port: number): Promise<Bound> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.removeListener('error', reject)
      resolve()
    })
  })
  const bound = server.address() as AddressInfo
  return { host: bound.address, port: bound.port }
}
