/** A message of a listing, in one line or one object. Pure, except for the time zone. */
import type { ListedMessage } from '../../../src/index.js'
import { queueNameOf } from '../../../src/lane/lane.js'
import { printable, reasonOf, senderText, shortTime } from './shown-text.js'

export function listedText(message: ListedMessage): string {
  const { id, where, acceptedAt, dataBytes, sender, recipients, recipientCount } = message
  const more = recipientCount - 1
  const to = printable(recipients[0] ?? '?') + (more > 0 ? ` and ${more} more` : '')
  return `${id.padEnd(17)} ${queueNameOf(where).padEnd(8)} ${String(dataBytes).padStart(9)} ${shortTime(acceptedAt)}  ${senderText(sender)} → ${to}`
}

/** Members as in `postqueue -j`, where they mean the same. */
export function listedJson(message: ListedMessage): Record<string, unknown> {
  const {
    id,
    where,
    acceptedAt,
    dataBytes,
    sender,
    recipients,
    recipientCount,
    lane,
    attempts,
    dueAt,
    notes,
    dsn,
    tags,
    notBefore,
    expiresAt,
  } = message
  return {
    queue_name: queueNameOf(where),
    queue_id: id,
    arrival_time: Math.floor(acceptedAt / 1000),
    message_size: dataBytes,
    sender: sender === '' ? 'MAILER-DAEMON' : sender,
    recipients: recipients.map((address, i) => ({ address, ...dsn?.recipients[i] })),
    ret: dsn?.ret,
    envid: dsn?.envid,
    recipient_count: recipientCount,
    delay_reasons: notes.map(reasonOf),
    lane,
    attempts,
    due_time: dueAt === Infinity ? null : Math.floor(dueAt / 1000),
    tags,
    not_before: notBefore === undefined ? undefined : Math.floor(notBefore / 1000),
    expires_at: expiresAt === undefined ? undefined : Math.floor(expiresAt / 1000),
  }
}
