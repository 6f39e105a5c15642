/** Checks the DSN requests of a submission (RFC 3461). The same address twice is one recipient,
 * with its last request, as in smtp-server. */
import {
  isEnvid,
  isOrcpt,
  notifyBits,
  type Notify,
  type RecipientDsn,
  type Ret,
} from '../../base/notification.js'
import { WaybillError } from '../../errors.js'
import { notifyNotes, type EnvelopeDsn } from '../../record/dsn.js'

/** By the names that nodemailer has for it. */
export interface SubmissionDsn {
  /** The envelope id: a report says it again. Printable ASCII, at most 100 octets as xtext. */
  readonly id?: string | undefined
  /** What a report of a failure returns: the header (as without it), or all of a message of up
   * to 50 000 bytes. */
  readonly return?: Ret | undefined
  /** For the recipients that say nothing themselves. Default: failures and delays. */
  readonly notify?: Notify | undefined
}

/** Recipients, each once, and what is asked for them. */
export interface Distinct {
  readonly addresses: readonly string[]
  readonly asked: readonly (RecipientDsn | undefined)[]
}

/** @param recipients whose addresses are checked, @returns undefined when nothing is asked
 * @throws WaybillError OPTION_INVALID */
export function checkedDsn(dsn: unknown, { addresses, asked }: Distinct): EnvelopeDsn | undefined {
  if (dsn !== undefined && (typeof dsn !== 'object' || dsn === null))
    throw invalid('dsn', 'dsn is an object { id, return, notify }')
  const { id, return: ret, notify: forAll } = (dsn ?? {}) as SubmissionDsn
  if (id !== undefined && (typeof id !== 'string' || !isEnvid(id)))
    throw invalid('dsn.id', 'an envelope id is printable ASCII, at most 100 octets as xtext')
  if (ret !== undefined && ret !== 'full' && ret !== 'headers')
    throw invalid('dsn.return', "return is 'full' or 'headers'")
  const bitsForAll = checkedNotify('dsn.notify', forAll)
  const bits = new Uint8Array(addresses.length)
  const orcpts: string[] = []
  asked.forEach((one, index) => {
    const isSaid = one?.notify !== undefined
    bits[index] = isSaid ? checkedNotify('recipients.notify', one.notify, addresses[index]) : bitsForAll
    if (one?.orcpt === undefined) return
    if (typeof one.orcpt !== 'string' || !isOrcpt(one.orcpt))
      throw invalid('recipients.orcpt', orcptRule, addresses[index])
    while (orcpts.length < addresses.length) orcpts.push('')
    orcpts[index] = one.orcpt
  })
  const notify = notifyNotes(bits)
  if (id === undefined && ret === undefined && notify.length === 0 && orcpts.length === 0) return undefined
  return { ret, envid: id ?? '', notify, orcpts }
}

const orcptRule = 'an original recipient is `type;address` in printable ASCII, at most 500 octets as xtext'

function checkedNotify(option: string, notify: unknown, recipient?: string): number {
  const bits = notifyBits(notify)
  if (bits === undefined)
    throw invalid(option, "notify is 'never', or a list of 'success', 'failure', 'delay'", recipient)
  return bits
}

const invalid = (option: string, reason: string, recipient?: string): WaybillError =>
  new WaybillError('OPTION_INVALID', reason, {
    option,
    ...(recipient === undefined ? {} : { recipient: recipient.slice(0, 100) }),
  })
