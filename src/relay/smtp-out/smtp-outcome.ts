/** Decides the outcome of each recipient from a finished transaction. Pure.
 * Invariant: a reply to a recipient counts for that recipient, also if the connection broke
 * afterwards. When the end of the data was sent and no reply came, nobody knows whether the server
 * took the message: status 4.4.2, which nothing else here has. */
import type { DeliveryResult, Outcome, SiteTrouble } from '../../delivery/transport.js'
import { isClosing, isReply, outcomeOfReply, siteOfReply, type ClientError } from './smtp-reply.js'
import { withNeededQuotes } from '../../base/mail-address.js'
import { reasonParts } from '../../base/remote-reply.js'
import type { Transaction } from './transaction.js'

export function resultOf(transaction: Transaction, recipients: readonly string[]): DeliveryResult {
  const rest = outcomeOfRest(transaction)
  // Behind a MAIL that was refused, pipelined recipients hear 503, which says nothing about them.
  const { refusals, replies, error } = transaction
  const said = [...refusals, ...replies]
  if (said.length === 0 || error?.command === 'MAIL FROM') return rest
  //    1. 421, and no more, to one recipient
  //    2. the server stays, and takes the message for the others
  if (rest.kind !== 'delivered' && !said.some(isOwn)) return rest
  const refused = new Map<string, Outcome>()
  for (const { recipient, response } of refusals) {
    if (recipient !== undefined) refused.set(recipient, outcomeOfReply(response ?? '', 'recipient'))
  }
  // An address that stands in the envelope twice, accepted once, gets one copy: it is delivered.
  for (const recipient of transaction.accepted) refused.delete(recipient)
  const others: Outcome =
    rest.kind === 'site' ? { kind: 'deferred', status: rest.status, reason: rest.reason } : rest
  const answered = new Map<string, Outcome>()
  for (const { recipient, response } of replies)
    if (answered.get(recipient)?.kind !== 'delivered')
      answered.set(recipient, outcomeOfReply(response, 'data'))
  const outcomeOf = (recipient: string): Outcome =>
    refused.get(recipient) ?? answered.get(recipient) ?? others
  return recipients.map((recipient) => outcomeOf(withNeededQuotes(recipient.trim())))
}

/** A server that goes away says nothing of the recipient whose turn it was. RFC 5321 §3.8 */
const isOwn = ({ response }: { readonly response?: string | undefined }): boolean =>
  !isClosing(response ?? '')

/** For all recipients that were not refused by themselves. */
function outcomeOfRest({ error, response, dotSent, isCut }: Transaction): Outcome | SiteTrouble {
  if (error === undefined) {
    // It cannot have taken what it has not had.
    if (isCut)
      return {
        kind: 'site',
        status: '4.5.0',
        reason: `an answer before the end of the data: ${response ?? ''}`,
      }
    return isClosing(response ?? '') ? siteOfReply(response ?? '') : outcomeOfReply(response ?? '', 'data')
  }
  if (dotSent && error.response === undefined) {
    return {
      kind: 'site',
      status: '4.4.2',
      reason: `${detailOf(error)} after the end of the data was sent: the message may have been delivered`,
    }
  }
  if (error.response !== undefined) {
    if (isClosing(error.response) || error.command === 'CONN') return siteOfReply(error.response)
    return outcomeOfReply(error.response, error.command === 'MAIL FROM' ? 'mail' : 'data')
  }
  // What nodemailer found out before it sent anything.
  if (error.code === 'EMESSAGE') return { kind: 'failed', status: '5.3.4', reason: error.message }
  if (error.code === 'EENVELOPE') return { kind: 'failed', status: '5.1.7', reason: error.message }
  return troubleOfError(error)
}

/** A server that wants TLS says so of a session that has to do without, not of its message. RFC
 * 3207 §4; X.7.10 is RFC 5248's. */
export function siteOfPlaintext(
  { isFallback, refusedTls }: { readonly isFallback: boolean; readonly refusedTls: boolean },
  { error }: Transaction,
): SiteTrouble | undefined {
  if (!isFallback && !refusedTls) return undefined
  const response = error?.response ?? ''
  if (!/^5(30|\d\d[ -]5\.7\.10)\b/.test(response)) return undefined
  const why = refusedTls ? 'STARTTLS was refused' : 'the TLS handshake failed'
  return { kind: 'site', status: '4.7.5', reason: `${why}; without TLS: ${response}` }
}

/** No session with a server: trouble of its site, or of this machine. */
export type Trouble = SiteTrouble | (Outcome & { readonly kind: 'deferred' })

/** What this machine lacks for another connection. It says nothing about a server:
 *    1. the relay may open no more files
 *    2. connections to three sites fail
 *    3. each is dead, and its mail waits long after files were closed */
const lacks: Readonly<Record<string, string>> = {
  EMFILE: 'this process has too many files open',
  ENFILE: 'the machine has too many files open',
  ENOBUFS: 'the machine has no room for another socket',
  ENOMEM: 'the machine has no memory for another socket',
  EADDRNOTAVAIL: 'this machine does not have the address, or no free port on it',
}

/** A machine without IPv6 says so of each server of IPv6, for ever: were messages put off, a site
 * whose other servers are silent would never be dead. */
const noIpv6 = /connect EADDRNOTAVAIL [^\s:]*:\S*:\d/

/** @param before what is said before it, with the blank behind it */
export function troubleOfError(error: ClientError, before = ''): Trouble {
  const lacking = noIpv6.test(error.message) ? undefined : lacks[error.originalCode ?? '']
  return lacking === undefined || error.response !== undefined
    ? siteOfError(error, before)
    : { kind: 'deferred', status: '4.3.0', reason: `${before}${lacking}: ${detailOf(error)}` }
}

/** @param before as above */
export function siteOfError(error: ClientError, before = ''): SiteTrouble {
  const { code, response } = error
  const status = statusByCode[code ?? '']
  if (response === undefined)
    return { kind: 'site', status: status ?? '4.4.0', reason: before + detailOf(error) }
  // Whatever the server calls it: there is no TLS. @see Postfix smtp_proto.c
  if (code === 'ETLS') return { kind: 'site', status: '4.7.4', reason: before + error.message }
  return {
    ...siteOfReply(response, code === 'EAUTH' ? status : undefined),
    reason: before + contextOf(error, response) + response,
  }
}

/** Nodemailer's words before a reply, which it quotes in some of them as well. */
function contextOf({ message }: ClientError, response: string): string {
  const words = message.endsWith(response) ? message.slice(0, -response.length) : ''
  const context = words.replace(/\.? response=[^]*$/, '').replace(/[:\s]+$/, '')
  if (context === '') return isReply(response) ? '' : 'not an SMTP reply: '
  return context === 'Invalid greeting' && isReply(response) ? '' : `${context}: `
}

/** Names the server: as the remote of its reply, else before our own words about it.
 * @param isNamed the server was not named by the nexthop, so own words have to name it */
export function saidBy<T extends Outcome | SiteTrouble>(name: string, isNamed: boolean, result: T): T {
  if (result.kind === 'delivered' || reasonParts(result.reason) !== undefined)
    // A literal that begins with a copy costs a microsecond on Node 20 for each member behind it.
    return Object.assign({}, result, { remote: name })
  return isNamed ? { ...result, reason: `${name}: ${result.reason}` } : result
}

const statusByCode: Readonly<Record<string, string>> = {
  EDNS: '4.4.3',
  ESOCKET: '4.4.1',
  ETIMEDOUT: '4.4.1',
  ETLS: '4.7.5',
  EAUTH: '4.7.8',
  EPROTOCOL: '4.5.0',
}

const detailOf = (error: ClientError): string =>
  error.originalCode === undefined || error.message.includes(error.originalCode)
    ? error.message
    : `${error.message} (${error.originalCode})`
