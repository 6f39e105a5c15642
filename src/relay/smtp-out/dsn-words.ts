/** Writes the DSN requests of a message (RFC 3461) as parameters of MAIL and RCPT, for the next
 * server.
 * Invariant: what was not asked has no parameter, so a server that knows of DSN is asked for no
 * more than we were. */
import { orcptXtext, xtext } from '../../base/notification.js'
import type { RequestDsn } from '../../delivery/transport.js'

/** Each with a blank before it. */
export function senderWords({ ret, envid }: RequestDsn): string {
  const words = ret === undefined ? '' : ` RET=${ret === 'full' ? 'FULL' : 'HDRS'}`
  return envid === undefined ? words : `${words} ENVID=${xtext(envid)}`
}

/** @param index of the recipient in the request */
export function recipientWords({ recipients }: RequestDsn, index: number): string {
  const { notify, orcpt } = recipients[index] ?? {}
  const list =
    notify === undefined ? undefined : notify === 'never' ? 'NEVER' : notify.join(',').toUpperCase()
  const words = list === undefined ? '' : ` NOTIFY=${list}`
  return orcpt === undefined ? words : `${words} ORCPT=${orcptXtext(orcpt)}`
}
