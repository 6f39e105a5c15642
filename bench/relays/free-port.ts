/** Free ports, for servers that need a fixed one. */
import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'

const answerMsMax = 30_000

/** A port on 127.0.0.1 that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Settles when a server greets there. @throws Error after 30 s without a greeting */
export async function greeted(port: number): Promise<void> {
  const until = performance.now() + answerMsMax
  while (!(await greets(port))) {
    if (performance.now() > until) throw new Error(`nobody answers on port ${port}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

function greets(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const end = (isGreeted: boolean): void => {
      socket.destroy()
      resolve(isGreeted)
    }
    socket.setTimeout(5000, () => end(false))
    socket.once('data', () => end(true))
    socket.once('error', () => end(false))
    socket.once('close', () => end(false))
  })
}
