/** The trace header that a relay writes above what it accepted, and the loops that it shows (RFC 5321 §4.4, §6.3). Pure. */

export interface Reception {
  /** What the client called itself. */
  readonly helo: string
  readonly address: string
  /** What we call ourselves. */
  readonly hostname: string
  /** `ESMTP`, `UTF8SMTPS`, … */
  readonly protocol: string
  readonly sessionId: string
  /** Named only when it is the only one. */
  readonly recipient: string | undefined
  /** Milliseconds since 1970. */
  readonly atMs: number
}

/** Longest header this can make, bytes: with a client's name of 300 characters and a recipient of 320. */
export const receivedBytesMax = 2000

export function receivedHeader(reception: Reception): Buffer {
  const { helo, address, hostname, protocol, sessionId, recipient, atMs } = reception
  const name = helo.replace(/[^\w.:[\]-]/g, '?')
  const literal = address.includes(':') ? `IPv6:${address}` : address
  const recipientPart = recipient === undefined ? '' : `\r\n\tfor <${recipient}>`
  return Buffer.from(
    `Received: from ${name} ([${literal}])\r\n\tby ${hostname} with ${protocol} id ${sessionId}${recipientPart};\r\n\t${dateOf(atMs)}\r\n`,
  )
}

let lastSecond = -1
let lastDate = ''

/** As RFC 5322 has it, in UTC. */
function dateOf(atMs: number): string {
  const second = Math.floor(atMs / 1000)
  if (second !== lastSecond) {
    lastSecond = second
    lastDate = new Date(second * 1000).toUTCString().replace('GMT', '+0000')
  }
  return lastDate
}

/** How many `Received` fields stand in the header of `data`: the relays that it has passed. */
export function hopCount(data: Buffer): number {
  let count = 0
  let start = 0
  while (start < data.length) {
    const first = data[start]
    if (first === 0x0d || first === 0x0a) break
    if ((first === 0x52 || first === 0x72) && isReceived(data, start)) count++
    const end = data.indexOf(0x0a, start)
    if (end < 0) break
    start = end + 1
  }
  return count
}

const isReceived = (data: Buffer, start: number): boolean =>
  data.toString('latin1', start, start + 9).toLowerCase() === 'received:'
