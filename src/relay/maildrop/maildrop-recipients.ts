/** Checks the recipients of mail in maildrop, as the door checks those of a client. Pure.
 * Invariant: each recipient is accepted or refused, and a refused one has a status and a reason. */
import type { AskedRecipient } from '../../base/notification.js'
import { expandedEach } from '../smtp-in/expanded-recipients.js'
import { hopCount } from '../smtp-in/received.js'
import { refusalAtDoor, type RecipientTables } from '../parameters/recipient-refusal.js'
import { badAddress, isReadable } from '../parameters/readable-address.js'
import { hopCountDefault, loopError, plainAddress } from '../smtp-in/smtp-handlers.js'
import type { FoundMail } from './maildrop-file.js'

export interface RefusedRecipient {
  readonly address: string
  /** RFC 3463. */
  readonly status: string
  readonly reason: string
}

export interface CheckedRecipients {
  readonly recipients: readonly (string | AskedRecipient)[]
  readonly refused: readonly RefusedRecipient[]
}

export interface Door {
  readonly hostname: string
  readonly tables: RecipientTables
  /** Largest message, bytes. */
  readonly sizeBytesMax: number
  readonly recipientCountMax: number
}

export function checkedRecipients(
  { recipients: dropped, data, dataBytes }: FoundMail,
  door: Door,
): CheckedRecipients {
  const { hostname, tables, sizeBytesMax, recipientCountMax } = door
  if (dataBytes > sizeBytesMax) return { recipients: [], refused: refusedFor(dropped, tooLarge) }
  if (hopCount(data) > hopCountDefault)
    return { recipients: [], refused: refusedFor(dropped, loopError().message) }
  const named: string[] = []
  const written = new Map<string, string>()
  const refused: RefusedRecipient[] = []
  const asWritten = (addresses: readonly string[]): string[] =>
    addresses.map((address) => written.get(address) ?? address)
  for (const recipient of dropped) {
    const plain = plainAddress(recipient, hostname)
    const reply = isReadable(plain) ? refusalAtDoor(tables, recipient, plain) : badAddress('5.1.3')
    if (reply === undefined) {
      named.push(plain)
      written.set(plain, recipient)
    } else refused.push(...refusedFor([recipient], reply.message))
  }
  if (tables.aliases === undefined) {
    const distinct = [...written.keys()]
    refused.push(...refusedFor(asWritten(distinct.slice(recipientCountMax)), tooMany))
    return { recipients: distinct.slice(0, recipientCountMax), refused }
  }
  const expanded = expandedEach(named, tables.aliases, recipientCountMax)
  for (const { address, reply } of expanded.refused)
    refused.push(...refusedFor(asWritten([address]), reply.message))
  return { recipients: expanded.recipients, refused }
}

const tooLarge = '5.3.4 the message is larger than the relay takes'
const tooMany = '5.5.3 too many recipients'

/** @param words begin with a status. The next attempt is up to the sender, so it is final. */
export const refusedFor = (addresses: readonly string[], words: string): RefusedRecipient[] => {
  const [, digits = '.0.0', reason = words] = /^[45](\.\d+\.\d+) (.*)$/s.exec(words) ?? []
  return addresses.map((address) => ({ address, status: `5${digits}`, reason }))
}
