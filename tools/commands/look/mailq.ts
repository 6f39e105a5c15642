/** `waybill mailq`: lists messages like Postfix's mailq. */
import { nounText } from '../../../src/base/count-text.js'
import type { RequestDsn } from '../../../src/delivery/transport.js'
import { Messages } from '../../../src/inspect/messages/messages.js'
import {
  matchesEnvelope,
  matchesRecipients,
  type QueuedMessage,
} from '../../../src/inspect/messages/queued-message.js'
import { takeSnapshot } from '../../../src/inspect/queue/snapshot.js'
import {
  complainOf,
  exits,
  inspectCommand,
  jsonOption,
  type InspectCommand,
  type Inspected,
} from './inspection.js'
import { printable, reasonsByIndex, senderText, shortTime } from '../text/shown-text.js'
import {
  addressesIn,
  readableAddresses,
  readableDsn,
  selectionOf,
  selectionOptions,
  jsonTerms,
} from './listing-options.js'
import { parseCount } from '../cli/values.js'

export const mailq: InspectCommand = inspectCommand(
  {
    synopsis: '[--queue DIR] [--json] [SELECTION …] [--limit N]',
    options: {
      ...jsonOption,
      ...selectionOptions,
      limit: { value: 'N', help: 'stop behind so many messages' },
    },
    notes:
      'An id is followed by `*` when the message is being delivered, `!` when it is on hold, `?` when damage took the\n' +
      'record that would say whether it was delivered. A queue on which a relay works is listed as of one moment.\n' +
      'With --json the members are those of `postqueue -j`, and lane, attempts, due_time, recipient_count; ret and envid,\n' +
      'and notify and orcpt of a recipient, where the sender asked for them (DSN).',
  },
  list,
)

export const listingRule: string = '----Queue ID----- --Size-- ---Arrival Time---- --Sender/Recipient------\n'
const indent = `${' '.repeat(17)} ${' '.repeat(8)} ${' '.repeat(19)} `
const noAddresses: readonly string[] = []
/** Column at which a reason ends. */
const reasonWidth = 76

async function list(inspected: Inspected): Promise<number> {
  const { directory, args, out, surroundings, report, progress } = inspected
  const selection = selectionOf(args, surroundings.nowMs())
  const limit = args.isSet('limit') ? parseCount('limit', args.one('limit') ?? '', 1) : Infinity
  const json = args.isSet('json')
  const snapshot = await takeSnapshot(directory)
  for (const finding of snapshot.findings) report(finding)
  const messages = new Messages(directory, snapshot, {
    report,
    lane: selection.lane,
    onProgress: (done, all) => progress.show(done, all),
  })
  let count = 0
  let bytes = 0
  batches: for await (const batch of messages.batches()) {
    for (const message of batch) {
      if (!matchesEnvelope(message, selection)) continue
      const addresses =
        addressesIn(message) ?? (await readableAddresses(message, messages, report)) ?? noAddresses
      if (!matchesRecipients(addresses, selection)) continue
      if (json)
        out.json(
          jsonOf(message, addresses, message.envelope.dsn && (await readableDsn(message, messages, report))),
        )
      else out.text((count === 0 ? listingRule : '\n') + textOf(message, addresses))
      count++
      bytes += message.envelope.dataBytes
      if (out.isFull) await out.flush()
      if (count >= limit) break batches
    }
  }
  if (!json)
    out.line(
      count === 0
        ? `Mail queue is empty${inspected.findings.length === 0 ? '' : ', except for damaged mail'}`
        : `\n-- ${Math.floor(bytes / 1024)} Kbytes in ${count} ${nounText(count, 'Request')}.`,
    )
  progress.end()
  await out.flush()
  complainOf(inspected)
  return exits.fine
}

const marks = { incoming: '', active: '*', deferred: '', hold: '!' } as const

/** Pads with spaces in front; fast for many short strings. */
const spaces = Array.from({ length: 100 }, (_, count) => ' '.repeat(count))
const fill = (text: string, width: number): string => spaces[width - text.length] ?? ''

export function textOf(message: QueuedMessage, addresses: readonly string[]): string {
  const { envelope, where, uncertain } = message
  const id = `${envelope.id}${marks[where]}${uncertain ? '?' : ''}`
  const size = String(envelope.dataBytes)
  const time = shortTime(envelope.acceptedAt)
  let text = `${id}${fill(id, 17)} ${fill(size, 8)}${size} ${fill(time, 19)}${time} ${senderText(envelope.sender)}\n`
  const reasonAt = reasonsByIndex(message.notes, envelope.recipientCount)
  let shown = ''
  for (let i = 0; i < addresses.length; i++) {
    const reason = reasonAt(message.waiting?.[i] ?? i) ?? ''
    if (reason !== shown) {
      shown = reason
      const told = reason === '' ? 'reason unavailable' : reason
      text += `${fill(told, reasonWidth)}(${told})\n`
    }
    text += `${indent}${printable(addresses[i]!)}\n`
  }
  return text
}

/** @param dsn by their indexes in the envelope */
export function jsonOf(
  message: QueuedMessage,
  addresses: readonly string[],
  dsn: RequestDsn | undefined,
): Record<string, unknown> {
  const { envelope, where, lane, dueAt, uncertain } = message
  const reasonAt = reasonsByIndex(message.notes, envelope.recipientCount)
  return {
    queue_name: where,
    queue_id: envelope.id,
    arrival_time: Math.floor(envelope.acceptedAt / 1000),
    message_size: envelope.dataBytes,
    force_expired: false,
    sender: envelope.sender === '' ? 'MAILER-DAEMON' : envelope.sender,
    recipients: addresses.map((address, i) => {
      const index = message.waiting?.[i] ?? i
      const reason = reasonAt(index)
      const told = reason === undefined ? { address } : { address, delay_reason: reason }
      return dsn === undefined ? told : { ...told, ...dsn.recipients[index] }
    }),
    ret: dsn?.ret,
    envid: dsn?.envid,
    lane,
    attempts: envelope.attempts,
    due_time: dueAt === Infinity ? null : Math.floor(dueAt / 1000),
    ...jsonTerms(envelope),
    recipient_count: message.waitingCount,
    ...(uncertain ? { uncertain } : undefined),
  }
}
