/** Decides which recipients are refused, and with which reply: those of a session, and those of
 * mail in maildrop. Pure.
 * Invariant: both doors give the same answer. */
import { lineFor, type Aliases } from '../tables/aliases.js'
import { standingBy } from '../tables/recipient-standing.js'
import type { RelayDomains, Standing } from '../tables/relay-domains.js'
import { refusalOf, type RefusedRecipients } from '../tables/route-verdict.js'
import { ReplyError } from './reply-error.js'

export interface RecipientTables {
  readonly relayDomains?: RelayDomains | undefined
  readonly aliases?: Aliases | undefined
  readonly refused?: RefusedRecipients | undefined
}

/** Of a recipient without a domain: it is ours by the relay domains; without these, by a line for
 * it at our name. @param plain the same with our name
 * @param usual without a table of relay domains */
export function standingAtDoor(
  { relayDomains, aliases }: RecipientTables,
  recipient: string,
  plain: string,
  usual: Standing,
): Standing {
  const known = relayDomains === undefined ? plain : recipient
  return standingBy({ relayDomains, aliases }, known, usual)
}

export const unknownUser = (): ReplyError => new ReplyError({ code: 550, enhanced: '5.1.1' }, 'unknown user')

/** A refusal in the table of routes. An alias goes before it.
 * @param recipient with our name where it has no domain */
export function routeRefusal(
  { refused, aliases }: RecipientTables,
  recipient: string,
): ReplyError | undefined {
  if (refused === undefined || refused.lines.size === 0) return undefined
  const said = refusalOf(refused, recipient)
  if (said === undefined || (aliases !== undefined && lineFor(aliases, recipient) !== undefined))
    return undefined
  return new ReplyError({ code: 550, enhanced: said.status }, said.text)
}

/** Of a client that may send to anywhere. */
export const refusalAtDoor = (
  tables: RecipientTables,
  recipient: string,
  plain: string,
): ReplyError | undefined =>
  standingAtDoor(tables, recipient, plain, 'elsewhere') === 'unknown'
    ? unknownUser()
    : routeRefusal(tables, plain)
