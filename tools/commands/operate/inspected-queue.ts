/** Lists a queue without a relay for a dry run, from its files alone.
 * Invariant: nothing is locked or written: a listing begins no life, and may run
 * beside a `sendmail`. */
import { comparableDomainOf } from '../../../src/base/mail-address.js'
import type { RequestDsn } from '../../../src/delivery/transport.js'
import type { Disk } from '../../../src/disk/disk.js'
import { listedTerms } from '../../../src/admin/select/listed-message.js'
import {
  AddressMatch,
  firstTest,
  needsAddresses,
  selectsEnvelope,
} from '../../../src/admin/select/selector.js'
import type { ListedMessage, Route, Selector } from '../../../src/index.js'
import type { Finding } from '../../../src/inspect/damage/finding.js'
import { Messages } from '../../../src/inspect/messages/messages.js'
import {
  addressesIn,
  readableAddresses,
  readableDsn,
} from '../../../src/inspect/messages/waiting-recipients.js'
import { QueueDirectory } from '../../../src/inspect/queue/queue-directory.js'
import type { QueuedMessage } from '../../../src/inspect/messages/queued-message.js'
import { takeSnapshot } from '../../../src/inspect/queue/snapshot.js'
import { sentenceOf } from '../look/inspection.js'

/** Routes are known only to a relay. */
export const routeWithoutRelay = (recipient: string): Route => ({
  transport: 'none',
  nexthop: comparableDomainOf(recipient),
})

/** Recipients that a message is listed with, as a relay does. */
const recipientsMax = 1000

export class InspectedQueue {
  readonly #findings = new Map<string, Finding>()
  readonly #disk: Disk
  readonly #nowMs: () => number

  constructor(disk: Disk, nowMs: () => number) {
    this.#disk = disk
    this.#nowMs = nowMs
  }

  /** Damage that was met, each once. */
  get findings(): readonly Finding[] {
    return [...this.#findings.values()]
  }

  async *list(selector: Selector): AsyncGenerator<ListedMessage> {
    const report = (finding: Finding): void => void this.#findings.set(sentenceOf(finding), finding)
    const directory = await QueueDirectory.open(this.#disk, report)
    if (directory === undefined) return
    const snapshot = await takeSnapshot(directory)
    for (const finding of snapshot.findings) report(finding)
    const messages = new Messages(directory, snapshot, { report, lane: selector.lane })
    const mayMatch = firstTest(selector, this.#nowMs())
    for await (const batch of messages.batches(({ envelope }) => mayMatch(envelope)))
      for (const message of batch) {
        if (!this.#mayMean(selector, message)) continue
        const addresses = addressesIn(message) ?? (await readableAddresses(message, messages, report)) ?? []
        if (needsAddresses(selector) && !match(selector, message).add(addresses)) continue
        const dsn = message.envelope.dsn && (await readableDsn(message, messages, report))
        yield listedMessage(message, addresses, dsn)
        // An id is given once.
        if (selector.id !== undefined) return
      }
  }

  close(): void {
    this.#disk.abandon()
  }

  /** All conditions except those on addresses. */
  #mayMean(selector: Selector, message: QueuedMessage): boolean {
    // A verb does not reach uncertain messages, and by a lane's number only messages that wait
    // there.
    if (message.uncertain || (message.where === 'active' && typeof selector.lane === 'number')) return false
    return selectsEnvelope(selector, message, this.#nowMs())
  }
}

const match = (selector: Selector, { envelope }: QueuedMessage): AddressMatch =>
  new AddressMatch(selector, { route: routeWithoutRelay }, envelope)

/** @param dsn by the recipients' indexes in the envelope */
function listedMessage(
  message: QueuedMessage,
  addresses: readonly string[],
  dsn: RequestDsn | undefined,
): ListedMessage {
  const { where, waitingCount, lane, dueAt, notes } = message
  const { id, sender, acceptedAt, attempts, dataBytes, terms } = message.envelope
  const recipients = addresses.slice(0, recipientsMax)
  return {
    id,
    sender,
    recipients,
    recipientCount: waitingCount,
    where: where === 'deferred' ? 'retry' : where,
    lane,
    acceptedAt,
    attempts,
    dataBytes,
    dueAt,
    notes,
    ...(terms && listedTerms(terms)),
    ...(dsn && {
      dsn: { ...dsn, recipients: recipients.map((_, i) => dsn.recipients[message.waiting?.[i] ?? i] ?? {}) },
    }),
  }
}
