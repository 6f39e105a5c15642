/** A TCP proxy between a node and its servers, that can lose what goes either way.
 * Invariant: in the state `open` it changes nothing. `cut`: nothing passes, and what was sent is
 * lost with its connection. `held`: questions wait, and reach the server when it opens, on
 * connections that nobody listens to any more: ghosts. `deaf`: questions pass, answers are lost. */
import { createConnection, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

export type ProxyState = 'open' | 'cut' | 'held' | 'deaf'

export class Proxy {
  readonly #servers: Server[] = []
  readonly #pairs = new Set<{ readonly near: Socket; readonly far: Socket }>()
  #state: ProxyState = 'open'

  /** @returns the ports that stand for these */
  async open(ports: readonly number[]): Promise<number[]> {
    const mine: number[] = []
    for (const port of ports) {
      const server = createServer((near) => this.#accept(near, port))
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      this.#servers.push(server)
      mine.push((server.address() as AddressInfo).port)
    }
    return mine
  }

  set(state: ProxyState): void {
    this.#state = state
    for (const pair of this.#pairs) {
      if (state === 'open') {
        pair.far.resume()
        pair.near.resume()
      } else this.#apply(pair)
    }
  }

  close(): void {
    for (const server of this.#servers) server.close()
    for (const { near, far } of this.#pairs) {
      near.destroy()
      far.destroy()
    }
  }

  #accept(near: Socket, port: number): void {
    const far = createConnection({ host: '127.0.0.1', port, allowHalfOpen: true })
    const pair = { near, far }
    this.#pairs.add(pair)
    near.setNoDelay(true)
    far.setNoDelay(true)
    near.on('data', (bytes) => {
      if (this.#state !== 'cut') far.write(bytes)
    })
    far.on('data', (bytes) => {
      if (this.#state === 'open') near.write(bytes)
    })
    for (const socket of [near, far]) socket.on('error', () => undefined)
    // If the connection closed at once, a server would drop bytes that it has not read yet.
    near.on('close', () => {
      if (this.#state === 'open') far.destroy()
      else if (this.#state !== 'held') this.#pairs.delete(pair)
    })
    far.on('close', () => {
      this.#pairs.delete(pair)
      if (this.#state === 'open') near.destroy()
    })
    this.#apply(pair)
  }

  #apply({ near }: { readonly near: Socket }): void {
    if (this.#state === 'held') near.pause()
  }
}
