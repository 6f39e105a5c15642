/** One attempt to deliver over SMTP, wherever the servers are.
 * Invariant: a recipient is `delivered` only after a 2yz reply to the message and `failed` only after a 5yz reply, its own or the
 * message's, or without any server because it has none; everything else is tried again. A message is sent a second time within one attempt
 * only where nobody can have it from the first: once over a fresh connection when the server ended a reused one, or refused MAIL on it, before
 * any data left, and to the next server when the one before put off every recipient. Who had the end of the data and gave no
 * answer may have delivered it: then the attempt is over.
 *
 * Servers are tried in their order until one has a session for us; a session that waits at one of them is used before any
 * is opened. One that puts off some recipients and not others ends the attempt, what it put off is for the next one: Postfix would offer that
 * to the next server at once. As there, two servers at most hear of a message within one attempt (smtp_mx_session_limit).
 *
 * Data leaves as it was accepted, dots doubled as RFC 5321 §4.5.2 asks, below a signature where there is a key (dkim-signer.ts); to a server
 * without 8BITMIME in seven bits (seven-bit.ts). SMTP has no form
 * for a bare CR or LF: each leaves as CRLF (and cannot end the data early at a server that takes it for a line's end). */
import { assert } from '../../base/assert.js'
import type { Timer } from '../../base/clock.js'
import { andLastly, reasonText } from '../../base/remote-words.js'
import type {
  DeliveryRequest,
  DeliveryResult,
  Outcome,
  SiteTrouble,
  Transport,
} from '../../delivery/transport.js'
import { isWaybillError } from '../../errors.js'
import type { DkimSigner } from '../dkim/dkim-signer.js'
import { hasInternationalHeader } from '../mime/international-header.js'
import { NoSevenBitForm } from '../mime/seven-bit.js'
import { Sending, type Form } from './sending.js'
import type { SmtpClient } from './smtp-client.js'
import { resultOf, saidBy, siteOfPlaintext } from './smtp-outcome.js'
import { isClosing, isRefusal } from './smtp-reply.js'
import { siteOfAbandoned, type OutSessions, type Place, type Session } from './out-sessions.js'
import type { Transaction } from './transaction.js'

/** At least one, in the order in which they are tried; or what becomes of the mail without any. */
export type Places = readonly Place[] | Outcome | SiteTrouble

/** Asked at every attempt. */
export type PlacesOf = (request: DeliveryRequest, signal: AbortSignal) => Places | Promise<Places>

/** Data over this is sent as a stream, bytes. */
const streamedBytesMin = 1 << 20

/** Servers that hear of a message within one attempt. @see Postfix smtp_mx_session_limit */
const serversMax = 2

/** How long a verb that ends a message waits for the answer to data that has left, milliseconds. */
const answerGraceMs = 2000

interface Answer {
  readonly result: DeliveryResult
  /** Nobody has it, nobody has refused it. */
  readonly maySendElsewhere: boolean
}

/** @param signer undefined: mail leaves without a signature */
export function smtpDelivery(sessions: OutSessions, placesOf: PlacesOf, signer?: DkimSigner): Transport {
  /** @returns undefined when a reused connection turned out to be over, and may be replaced */
  async function offered(
    session: Session,
    sending: Sending,
    mayReplace: boolean,
    signal: AbortSignal,
  ): Promise<Answer | undefined> {
    const { client } = session
    const { request, smtputf8, hasLetters } = sending
    let needsMore = smtputf8 && !client.offers('SMTPUTF8')
    // A client may say SMTPUTF8 of every message; only its letters make a server need it. RFC 6531 §3.1, Postfix's SMTPUTF8_FLAG_HEADER
    if (needsMore && !hasLetters) needsMore = await looked(session, hasInternationalHeader(sending.source()))
    const form = needsMore ? noSmtputf8 : await looked(session, formOf(sending, client))
    if (signal.aborted || 'kind' in form) sessions.keep(session)
    if (signal.aborted) return last(siteOfAbandoned())
    if ('kind' in form) return last(named(session, form))
    const isReused = client.transactionCount > 0
    const transaction = await transacted(client, sending, form, signal)
    if (isReused && mayReplace && endedIdle(transaction) && !signal.aborted) {
      client.close()
      return undefined
    }
    if (transaction.error?.code === 'ESTREAM') {
      // Our own data could not be read to its end; without the dot the server takes nothing.
      client.close()
      throw transaction.error.cause instanceof Error ? transaction.error.cause : transaction.error
    }
    const refused = siteOfPlaintext(client, transaction)
    if (refused !== undefined) {
      client.close()
      return { result: named(session, refused), maySendElsewhere: true }
    }
    void sessions.returned(session, transaction)
    const outcome = resultOf(transaction, request.recipients)
    const result = named(session, request.dsn === undefined ? outcome : relayedBy(client, outcome))
    return { result, maySendElsewhere: isPutOff(result) && nobodyHas(transaction) }
  }

  async function transacted(
    client: SmtpClient,
    sending: Sending,
    form: Form,
    signal: AbortSignal,
  ): Promise<Transaction> {
    const { request, smtputf8 } = sending
    let grace: Timer | undefined
    // Behind the end of the data the server may have taken the message: its answer is worth a short wait to an operator.
    const close = (): void => {
      if (client.isBehindData && isWithdrawn(signal))
        grace = sessions.clock.after(answerGraceMs, () => client.close())
      else client.close()
    }
    signal.addEventListener('abort', close, { once: true })
    const transaction = await client.transact({
      sender: request.sender,
      recipients: request.recipients,
      dataBytes: form.dataBytes,
      data: sending.dataOf(form),
      smtputf8,
      eightBit: form.isEightBit,
      dsn: request.dsn,
    })
    signal.removeEventListener('abort', close)
    grace?.cancel()
    return transaction
  }

  /** What is found in the data before the server hears of it, which is no fault of the server's when it fails. */
  async function looked<T>(session: Session, found: Promise<T>): Promise<T> {
    try {
      return await found
    } catch (error) {
      sessions.keep(session)
      throw error
    }
  }

  async function deliver(request: DeliveryRequest, signal: AbortSignal): Promise<DeliveryResult> {
    const places = await placesOf(request, signal)
    if ('kind' in places) return places
    assert(places.length > 0, 'mail goes somewhere, or there is a reason')
    const streamed = request.dataBytes > streamedBytesMin
    const whole = streamed ? undefined : await request.data()
    if (whole !== undefined && !Buffer.isBuffer(whole)) {
      return { kind: 'deferred', status: '4.3.5', reason: 'this transport cannot fetch data kept elsewhere' }
    }
    const sending = new Sending(request, whole, signer)
    const troubles: SiteTrouble[] = []
    const left = [...places]
    let answer: Answer | undefined
    let answerCount = 0
    let mayReplace = true
    let waiting = sessions.idle(places, request.attempts)
    for (let place = waiting?.place ?? left[0]; place !== undefined; place = left[0]) {
      const session = waiting ?? (await sessions.opened(place, request.attempts, signal))
      waiting = undefined
      const given =
        'client' in session ? await offered(session, sending, mayReplace, signal) : { trouble: session }
      if (given === undefined) {
        mayReplace = false
        continue
      }
      left.splice(left.indexOf(place), 1)
      if ('trouble' in given) troubles.push(given.trouble)
      else {
        answer = given
        answerCount++
      }
      if (signal.aborted || answer?.maySendElsewhere === false || answerCount === serversMax) break
    }
    return answer?.result ?? siteOfAll(troubles)
  }

  /** Nodemailer refuses a whole envelope for one address that it cannot write between angle brackets. */
  async function deliverWritable(request: DeliveryRequest, signal: AbortSignal): Promise<DeliveryResult> {
    const isWritable = (_: unknown, i: number): boolean => !unwritable.test(request.recipients[i]!)
    const writable = request.recipients.filter(isWritable)
    if (writable.length === request.recipients.length) return deliver(request, signal)
    const result = writable.length === 0 ? [] : await deliver(withRecipients(request, isWritable), signal)
    let next = 0
    return request.recipients.map((recipient): Outcome => {
      if (unwritable.test(recipient)) return { kind: 'failed', status: '5.1.3', reason: 'no form in SMTP' }
      const outcome = 'kind' in result ? result : result[next++]
      assert(outcome !== undefined, 'every recipient sent has an outcome')
      return outcome.kind === 'site' ? { ...outcome, kind: 'deferred' } : outcome
    })
  }

  return { deliver: deliverWritable, letsGoOfSignal: true, close: () => sessions.close() }
}

/** A request may be an instance of anything: what it has is asked for by name. */
const withRecipients = (
  request: DeliveryRequest,
  isKept: (_: unknown, index: number) => boolean,
): DeliveryRequest => ({
  id: request.id,
  attempts: request.attempts,
  sender: request.sender,
  recipients: request.recipients.filter(isKept),
  dsn: request.dsn && { ...request.dsn, recipients: request.dsn.recipients.filter(isKept) },
  nexthop: request.nexthop,
  acceptedAt: request.acceptedAt,
  dataBytes: request.dataBytes,
  smtputf8: request.smtputf8,
  data: () => request.data(),
  stream: () => request.stream(),
})

/** @returns the outcome of a message that the server cannot have */
async function formOf(sending: Sending, client: SmtpClient): Promise<Form | Outcome> {
  try {
    return await sending.formFor(client)
  } catch (error) {
    if (!(error instanceof NoSevenBitForm)) throw error
    const reason = `the server does not offer 8BITMIME, and the message has no form in 7 bits: ${error.message}`
    return { kind: 'failed', status: '5.6.3', reason }
  }
}

const noSmtputf8: Outcome = {
  kind: 'failed',
  status: '5.6.7',
  reason: 'the server does not offer SMTPUTF8',
}

/** Says who said it, and of a delivery over which session. */
function named({ client, place }: Session, result: DeliveryResult): DeliveryResult {
  const { name, isFound = false } = place
  const { tlsSession: tls } = client
  const of = <T extends Outcome | SiteTrouble>(outcome: T): T => {
    const said = saidBy(name, isFound, outcome)
    return said.kind === 'delivered' && tls !== undefined ? { ...said, tls } : said
  }
  return 'kind' in result ? of(result) : result.map(of)
}

/** RFC 3461 §5.2.2: who offers DSN has taken it upon himself to tell the sender; of others nothing can be expected, and behind who delivers it
 * himself there is nobody. */
function relayedBy(client: SmtpClient, result: DeliveryResult): DeliveryResult {
  const offersDsn = client.offers('DSN')
  if (client.isFinal && !offersDsn) return result
  const relayed = offersDsn ? 'with-dsn' : 'without-dsn'
  const onward = (outcome: Outcome): Outcome =>
    outcome.kind === 'delivered' ? { ...outcome, relayed } : outcome
  if (!('kind' in result)) return result.map(onward)
  return result.kind === 'site' ? result : onward(result)
}

const isWithdrawn = ({ reason }: AbortSignal): boolean =>
  isWaybillError(reason) && reason.code === 'ATTEMPT_WITHDRAWN'

const unwritable = /[\r\n<>]/

const last = (result: DeliveryResult): Answer => ({ result, maySendElsewhere: false })

/** All places have been tried, and none had a session. */
function siteOfAll(troubles: readonly SiteTrouble[]): SiteTrouble {
  const final = troubles.findLast(({ remote }) => remote !== undefined) ?? troubles.at(-1)
  assert(final !== undefined, 'a place where there is no session has a reason')
  if (troubles.length === 1) return final
  const others = troubles
    .filter((trouble) => trouble !== final)
    .map(({ reason, remote }) => reasonText('', reason, remote))
  return { ...final, reason: others.join('; ') + andLastly + final.reason }
}

const isPutOff = (result: DeliveryResult): boolean =>
  ('kind' in result ? [result] : result).every(({ kind }) => kind === 'site' || kind === 'deferred')

/** The end of the data never left, or the server said that it did not take it. */
const nobodyHas = ({ dotSent, error }: Transaction): boolean => !dotSent || isRefusal(error?.response ?? '')

/** A reused session was over, or the server does not want another message on it; a new one may take the message. Whatever is refused at
 * MAIL may be meant so (`450 too many messages in this session`), and costs one connection when it is not.
 *    // 1. data leaves on a reused connection  2. the server takes the message and closes  3. sent again, it is delivered twice
 * So nothing is sent again after the first octet of data. */
function endedIdle({ error, answered, dotSent, isCut }: Transaction): boolean {
  if (error === undefined || dotSent || isCut) return false
  const { response, command, code } = error
  if (response === undefined) return !answered || code === 'ECONNECTION' || code === 'ESOCKET'
  return isClosing(response) || (isRefusal(response) && command === 'MAIL FROM')
}
