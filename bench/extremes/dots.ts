/** The cost of lines that begin with a dot, which SMTP doubles, on the way in. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { listenSmtp } from '../../src/relay/smtp-in/smtp-in.js'
import type { BenchArguments } from '../bench.js'
import { spreadOf, type Row } from '../output.js'

const mebibytes = 4

/** Of two octets each. */
const lines = { 'that begin with a dot': '..', others: 'xx' } as const

export async function run({ output, smoke }: BenchArguments): Promise<void> {
  const rounds = smoke ? 1 : 9
  const port = {
    limits: { dataBytesMax: 2 ** 30, recipientCountMax: 10 },
    submit: async ({ data, id }: { data: Buffer | AsyncIterable<unknown>; id: string }) => {
      if (!Buffer.isBuffer(data)) for await (const _ of data);
      return { id }
    },
  }
  const server = await listenSmtp(port, {
    places: [{ host: '127.0.0.1', port: 0 }],
    purpose: 'local',
    greetDelayMs: 0,
  })
  const cpuMs = new Map(Object.keys(lines).map((name) => [name, [] as number[]]))
  for (let round = 0; round <= rounds; round++)
    for (const [name, line] of Object.entries(lines)) {
      const before = process.cpuUsage()
      await sent(server.ports[0]!.port, line)
      const { user, system } = process.cpuUsage(before)
      // The first one warms up.
      if (round > 0) cpuMs.get(name)!.push((user + system) / 1000 / mebibytes)
    }
  server.close()
  const rows = [...cpuMs].map(([name, values]): Row => ({ lines: name, 'CPU ms/MiB': spreadOf(values) }))
  output.table(`${mebibytes} MiB of lines of two octets, by SMTP`, rows)
  output.note('Client and server in one process.')
}

async function sent(port: number, line: string): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  const heard = socket[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  const say = async (text: string): Promise<void> => {
    socket.write(text)
    const { value } = await heard.next()
    if (!/^[23]/.test(String(value))) throw new Error(`the server says ${String(value)}`)
  }
  await heard.next()
  await say('HELO client.example\r\n')
  await say('MAIL FROM:<a@example.org>\r\n')
  await say('RCPT TO:<b@example.net>\r\n')
  await say('DATA\r\n')
  const piece = Buffer.from(`${line}\r\n`.repeat(16_384))
  for (let bytes = 0; bytes < mebibytes * 2 ** 20; bytes += piece.length)
    if (!socket.write(piece)) await once(socket, 'drain')
  await say('.\r\n')
  socket.destroy()
}
