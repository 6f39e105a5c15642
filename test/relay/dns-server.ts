/** A server of the DNS on this machine, over UDP and TCP, that proves chosen answers. What it has
 * no entry for is not there. */
import { createSocket, type RemoteInfo } from 'node:dgram'
import { createServer } from 'node:net'
import { AUTHENTIC_DATA, TRUNCATED_RESPONSE, decode, encode, type Answer } from 'dns-packet'
import { onTestFinished } from 'vitest'
import type { DnsServer } from '../../src/relay/dns/dns-client.js'

export interface Entry {
  readonly answers?: readonly Answer[]
  /** AD. */
  readonly isProven?: boolean
  readonly rcode?: number
  /** Over UDP. */
  readonly isTruncated?: boolean
  readonly isSilent?: boolean
  readonly overTcp?: 'is silent' | 'hangs up'
  /** What is sent over UDP instead, in this order. */
  readonly instead?: (usual: Buffer) => readonly Buffer[]
}

/** `MX example.net` → what is answered. */
export type Entries = Record<string, Entry>

export interface FakeDnsServer {
  readonly server: DnsServer
  readonly entries: Entries
  /** `MX example.net`, and `tcp MX example.net`. */
  readonly asked: string[]
  readonly queries: Buffer[]
}

const triesMax = 20

export async function dnsServer(entries: Entries, address = '127.0.0.1'): Promise<FakeDnsServer> {
  const asked: string[] = []
  const queries: Buffer[] = []
  const entryOf = (query: Buffer, way: string): Entry => {
    const [question] = decode(query).questions!
    const key = `${question!.type} ${question!.name}`
    asked.push(way + key)
    queries.push(query)
    return entries[key] ?? { rcode: 3 }
  }
  for (let i = 0; ; i++) {
    const udp = createSocket(address.includes(':') ? 'udp6' : 'udp4')
    udp.on('message', (query: Buffer, { address: from, port }: RemoteInfo) => {
      const entry = entryOf(query, '')
      if (entry.isSilent === true) return
      const usual = replyTo(query, entry)
      for (const bytes of entry.instead?.(usual) ?? [usual]) udp.send(bytes, port, from)
    })
    const tcp = createServer((socket) => {
      socket.on('error', () => {})
      socket.on('data', (bytes) => {
        const query = bytes.subarray(2)
        const entry = entryOf(query, 'tcp ')
        if (entry.overTcp === 'hangs up') socket.destroy()
        if (entry.isSilent === true || entry.overTcp !== undefined) return
        const reply = replyTo(query, { ...entry, isTruncated: false })
        const length = Buffer.alloc(2)
        length.writeUInt16BE(reply.length)
        // In two pieces.
        socket.write(length.subarray(0, 1))
        setImmediate(() => socket.write(Buffer.concat([length.subarray(1), reply])))
      })
    })
    await new Promise<void>((resolve) => udp.bind(0, address, resolve))
    const { port } = udp.address()
    try {
      await new Promise<void>((resolve, reject) => tcp.once('error', reject).listen(port, address, resolve))
    } catch (error) {
      udp.close()
      // Somebody has the port for TCP.
      if (i === triesMax) throw error
      continue
    }
    onTestFinished(() => {
      udp.close()
      tcp.close()
    })
    return { server: { address, port, isTrusted: true }, entries, asked, queries }
  }
}

function replyTo(
  query: Buffer,
  { answers = [], isProven = false, rcode = 0, isTruncated = false }: Entry,
): Buffer {
  const { id, questions } = decode(query)
  return encode({
    type: 'response',
    id,
    flags: rcode | (isProven ? AUTHENTIC_DATA : 0) | (isTruncated ? TRUNCATED_RESPONSE : 0),
    questions,
    answers: isTruncated ? [] : [...answers],
  })
}
