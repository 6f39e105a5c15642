/** Counts the ages of a queue's mail, by domain. */
import { comparableDomainOf } from '../../base/mail-address.js'
import type { Report } from '../damage/finding.js'
import type { Messages } from '../messages/messages.js'
import type { MetMessage } from '../messages/queued-message.js'
import { addressesIn, readableAddresses } from '../messages/waiting-recipients.js'
import type { AgeTable } from './age-table.js'

export interface AgesOf {
  /** By the domain of the sender: each message counts once. Else each recipient that waits does. */
  readonly bySender: boolean
  readonly isCounted: (message: MetMessage) => boolean
  /** Milliseconds since 1970. */
  readonly nowMs: number
  /** Called behind each so many messages that count. */
  readonly step?: { readonly messageCount: number; readonly done: () => Promise<void> } | undefined
}

/** @param report of recipients that cannot be read */
export async function countAges(
  ages: AgeTable,
  messages: Messages,
  { bySender, isCounted, nowMs, step }: AgesOf,
  report: Report,
): Promise<void> {
  const addAll = (addresses: readonly string[], { acceptedAt }: MetMessage['envelope']): void => {
    for (const address of addresses) ages.add(comparableDomainOf(address), nowMs - acceptedAt)
  }
  /** @returns whether its recipients must still be read from their frames */
  const count = (message: MetMessage): boolean => {
    if (!isCounted(message)) return false
    const { envelope } = message
    if (bySender) {
      ages.add(domainOfSender(envelope.sender), nowMs - envelope.acceptedAt)
      return false
    }
    const addresses = addressesIn(message)
    if (addresses !== undefined) addAll(addresses, envelope)
    return addresses === undefined
  }
  let counted = 0
  // A callback of the walk cannot wait for a step; a loop over batches can.
  for await (const batch of messages.batches(step === undefined ? count : isCounted))
    for (const message of batch) {
      if (step === undefined || count(message))
        addAll((await readableAddresses(message, messages, report)) ?? [], message.envelope)
      if (step !== undefined && ++counted % step.messageCount === 0) await step.done()
    }
}

const domainOfSender = (sender: string): string =>
  sender === '' ? 'MAILER-DAEMON' : comparableDomainOf(sender)
