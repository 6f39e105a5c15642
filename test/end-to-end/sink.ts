/** The server at which the mail of an end-to-end test arrives, with a record of each delivery. What
 * a recipient is answered stands in its name: `ok-…` is taken, `defer2-…` gets 450 at its first two
 * attempts, `fail-…` 550. */
import { createHash } from 'node:crypto'
import { foreignServer, type ForeignServer, type Taken } from '../relay/foreign-server.js'
import { numberOf, withoutReceived } from './mail.js'

export interface Delivery {
  readonly atMs: number
  readonly hash: string
}

export interface Report {
  /** The message that it is about, by its sender. */
  readonly number: number
  /** Its own identity: the same report delivered twice has one. */
  readonly messageId: string
  /** As its delivery status names them. */
  readonly recipients: readonly string[]
  readonly atMs: number
}

export interface Sink {
  readonly host: string
  readonly port: number
  /** By number and recipient. */
  deliveries(): Map<string, Delivery[]>
  reports(): Report[]
  /** Deliveries that the relay has begun and not been answered. */
  busyCount(): number
  takenCount(): number
  close(): void
}

export const deliveryKey = (number: number, recipient: string): string => `${number} ${recipient}`
export const hashOf = (data: Buffer): string => createHash('sha256').update(data).digest('base64')

export async function openSink(): Promise<Sink> {
  const attempts = new Map<string, number>()
  const server: ForeignServer = await foreignServer((line) => {
    const recipient = /^RCPT TO:<(.*?)>/i.exec(line)?.[1]
    if (recipient === undefined) return undefined
    if (recipient.startsWith('fail-')) return '550 5.1.1 no such user'
    const deferred = Number(/^defer(\d+)-/.exec(recipient)?.[1] ?? 0)
    const attempt = (attempts.get(recipient) ?? 0) + 1
    attempts.set(recipient, attempt)
    return attempt <= deferred ? '450 4.2.1 try again' : undefined
  })
  const deliveries = new Map<string, Delivery[]>()
  const reports: Report[] = []
  let readCount = 0
  const readOn = (): void => {
    for (const taken of server.taken.slice(readCount)) {
      if (isReport(taken.recipients)) reports.push(reportOf(taken))
      else noteDelivery(deliveries, taken)
    }
    readCount = server.taken.length
  }
  return {
    host: server.host,
    port: server.port,
    deliveries: () => {
      readOn()
      return deliveries
    },
    reports: () => {
      readOn()
      return reports
    },
    busyCount: () => server.busyCount(),
    takenCount: () => server.taken.length,
    close: () => server.close(),
  }
}

function noteDelivery(deliveries: Map<string, Delivery[]>, { data, recipients, atMs }: Taken): void {
  const plain = withoutReceived(data)
  // A message that cannot be told apart must not pass unseen: it stands under a number that nobody
  // sent.
  const number = numberOf(data) ?? -1
  const hash = plain === undefined ? 'no Received field' : hashOf(plain)
  for (const recipient of recipients) {
    const key = deliveryKey(number, recipient)
    const copies = deliveries.get(key)
    if (copies === undefined) deliveries.set(key, [{ atMs, hash }])
    else copies.push({ atMs, hash })
  }
}

const isReport = (recipients: readonly string[]): boolean =>
  recipients.some((recipient) => recipient.endsWith('@sender.example'))

function reportOf({ data, recipients, atMs }: Taken): Report {
  const text = data.toString('latin1')
  return {
    number: Number(/^s(\d+)@/.exec(recipients[0] ?? '')?.[1]),
    messageId: /^Message-ID:\s*(\S+)/im.exec(text)?.[1] ?? '',
    recipients: [...text.matchAll(/^Final-Recipient:\s*rfc822;\s*(\S+)/gim)].map((match) => match[1] ?? ''),
    atMs,
  }
}
