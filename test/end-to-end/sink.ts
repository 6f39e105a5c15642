/** Where the mail of an end-to-end test arrives, and what is known about each delivery.
 * What a recipient is answered stands in its name: `ok-…` is taken, `defer2-…` is told 450 at its first two attempts, `fail-…` 550. */
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
  return {
    host: server.host,
    port: server.port,
    deliveries: () => deliveriesOf(server.taken),
    reports: () => server.taken.flatMap(reportOf),
    busyCount: () => server.busyCount(),
    takenCount: () => server.taken.length,
    close: () => server.close(),
  }
}

function deliveriesOf(taken: readonly Taken[]): Map<string, Delivery[]> {
  const deliveries = new Map<string, Delivery[]>()
  for (const { data, recipients, atMs } of taken) {
    if (isReport(recipients)) continue
    const plain = withoutReceived(data)
    const number = numberOf(data)
    // A message that cannot be told apart must not pass unseen: it stands under a number that nobody sent.
    const hash = plain === undefined ? 'no Received field' : hashOf(plain)
    for (const recipient of recipients) {
      const key = deliveryKey(number ?? -1, recipient)
      deliveries.set(key, [...(deliveries.get(key) ?? []), { atMs, hash }])
    }
  }
  return deliveries
}

const isReport = (recipients: readonly string[]): boolean =>
  recipients.some((recipient) => recipient.endsWith('@sender.example'))

function reportOf({ data, recipients, atMs }: Taken): Report[] {
  if (!isReport(recipients)) return []
  const text = data.toString('latin1')
  return [
    {
      number: Number(/^s(\d+)@/.exec(recipients[0] ?? '')?.[1]),
      messageId: /^Message-ID:\s*(\S+)/im.exec(text)?.[1] ?? '',
      recipients: [...text.matchAll(/^Final-Recipient:\s*rfc822;\s*(\S+)/gim)].map((match) => match[1] ?? ''),
      atMs,
    },
  ]
}
