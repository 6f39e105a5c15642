/** The passage as a process: `passage-child SINK_PORT FILE` prints where it listens.
 * Each connection goes on to the sink as it is, command by command, and all that comes is written
 * to one file, which is synced after each write. No answer waits for that; but no more is read
 * while `unwrittenBytesMax` are not on the disk, as a relay would have to hold them. */
import { open } from 'node:fs/promises'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

const [sinkPort, path] = process.argv.slice(2) as [string, string]
const file = await open(path, 'w')
/** The file is written from its beginning again after so many bytes. */
const fileBytes = 256 * 1024 * 1024
const unwrittenBytesMax = 64 * 1024 * 1024

let unwritten: Buffer[] = []
let unwrittenBytes = 0
let offset = 0
let isWriting = false
const halted = new Set<Socket>()

async function write(): Promise<void> {
  isWriting = true
  while (unwritten.length > 0) {
    const pieces = unwritten
    unwritten = []
    const bytes = pieces.reduce((sum, { length }) => sum + length, 0)
    await file.writev(pieces, offset)
    await file.datasync()
    offset = (offset + bytes) % fileBytes
    unwrittenBytes -= bytes
    for (const client of halted) client.resume()
    halted.clear()
  }
  isWriting = false
}

const server = createServer({ noDelay: true }, (client) => {
  const sink = connect({ port: Number(sinkPort), host: '127.0.0.1', noDelay: true })
  client.on('data', (bytes) => {
    unwritten.push(bytes)
    unwrittenBytes += bytes.length
    if (!isWriting) void write()
    if (!sink.write(bytes)) client.pause()
    if (unwrittenBytes < unwrittenBytesMax) return
    client.pause()
    halted.add(client)
  })
  sink.on('drain', () => {
    if (!halted.has(client)) client.resume()
  })
  sink.pipe(client)
  client.on('end', () => sink.end())
  const end = (): void => {
    halted.delete(client)
    client.destroy()
    sink.destroy()
  }
  for (const socket of [client, sink]) socket.once('error', end)
  client.once('close', end)
})
server.listen(0, '127.0.0.1', () =>
  process.stdout.write(`listening on 127.0.0.1:${(server.address() as AddressInfo).port}\n`),
)
