/** One attempt to deliver over SMTP.
 * Invariants:
 * 1. A recipient is `delivered` only after a 2yz reply to the message, and `failed` only after a
 *    5yz reply, or because it has no server. All else is tried again.
 * 2. A message is sent twice in an attempt only if no server can have it: over a fresh connection
 *    when a reused one ended before any data, or to the next server when all were deferred.
 * 3. A server that had the end of the data and gave no answer ends the attempt.
 * Data leaves as accepted, with line ends as CRLF, below a signature (dkim-signer.ts), in seven
 * bits for a server without 8BITMIME (seven-bit.ts). README.md says which servers are tried. */
import { isError } from '../../base/realms.js'
import { assert } from '../../base/assert.js'
import { isMailAddress } from '../../base/mail-address.js'
import type { Timer } from '../../base/clock.js'
import { andLastly, reasonText } from '../../base/remote-reply.js'
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
import { Sending, type Form } from './message-form.js'
import type { SmtpClient } from './smtp-client.js'
import { resultOf, saidBy, siteOfPlaintext, type Trouble } from './smtp-outcome.js'
import { isClosing, isRefusal } from './smtp-reply.js'
import { siteOfAbandoned, type OutSessions, type Place, type Session } from './out-sessions.js'
import type { Transaction } from './transaction.js'

/** At least one, in the order in which they are tried; or the outcome without any. */
export type Places = readonly Place[] | Outcome | SiteTrouble

/** Asked at every attempt. */
export type PlacesOf = (request: DeliveryRequest, signal: AbortSignal) => Places | Promise<Places>

/** Data over this is sent as a stream, bytes. */
const streamedBytesMin = 1 << 20

/** Servers that hear of a message within one attempt. @see Postfix smtp_mx_session_limit */
const serversMax = 2

/** How long a verb that ends a message waits for the answer to sent data, milliseconds. */
const answerGraceMs = 2000

interface Answer {
  readonly result: DeliveryResult
  /** No server has it or has refused it. */
  readonly maySendElsewhere: boolean
}

/** @param signer undefined: mail leaves without a signature */
export function smtpDelivery(sessions: OutSessions, placesOf: PlacesOf, signer?: DkimSigner): Transport {
  const delivery = new SmtpDelivery(sessions, placesOf, signer)
  return {
    deliver: (request, signal) => delivery.deliver(request, signal),
    releasesSignal: true,
    sources: sessions.sources,
    close: () => sessions.close(),
  }
}

class SmtpDelivery {
  readonly #sessions: OutSessions
  readonly #placesOf: PlacesOf
  readonly #signer: DkimSigner | undefined

  constructor(sessions: OutSessions, placesOf: PlacesOf, signer: DkimSigner | undefined) {
    this.#sessions = sessions
    this.#placesOf = placesOf
    this.#signer = signer
  }

  /** What is no address goes to nobody: between angle brackets it could be a parameter, or another
   * address, and nodemailer would refuse the others with it. The queue has checked its own. */
  async deliver(request: DeliveryRequest, signal: AbortSignal): Promise<DeliveryResult> {
    if (request.sender !== '' && isUnwritable(request.sender)) return noForm('5.1.7')
    const isWritable = (_: unknown, i: number): boolean => !isUnwritable(request.recipients[i]!)
    const writable = request.recipients.filter(isWritable)
    if (writable.length === request.recipients.length) return this.#deliver(request, signal)
    const result =
      writable.length === 0 ? [] : await this.#deliver(withRecipients(request, isWritable), signal)
    let next = 0
    return request.recipients.map((recipient): Outcome => {
      if (isUnwritable(recipient)) return noForm('5.1.3')
      const outcome = 'kind' in result ? result : result[next++]
      assert(outcome !== undefined, 'every recipient sent has an outcome')
      return outcome.kind === 'site' ? { ...outcome, kind: 'deferred' } : outcome
    })
  }

  /** @returns undefined if a reused connection was over, and may be replaced */
  async #offered(
    session: Session,
    sending: Sending,
    mayReplace: boolean,
    signal: AbortSignal,
  ): Promise<Answer | undefined> {
    const { client } = session
    const { request, smtputf8, hasLetters } = sending
    let needsMore = smtputf8 && !client.offers('SMTPUTF8')
    // Clients may say SMTPUTF8 of any message; only letters outside ASCII make a server need it.
    // RFC 6531 §3.1, Postfix's SMTPUTF8_FLAG_HEADER
    if (needsMore && !hasLetters)
      needsMore = await this.#looked(session, hasInternationalHeader(sending.source()))
    const form = needsMore ? noSmtputf8 : await this.#looked(session, formOf(sending, client))
    if (signal.aborted || 'kind' in form) this.#sessions.keep(session)
    if (signal.aborted) return last(siteOfAbandoned())
    if ('kind' in form) return last(named(session, form))
    const isReused = client.transactionCount > 0
    const transaction = await this.#transacted(client, sending, form, signal)
    this.#sessions.tell(request.id, session)
    if (isReused && mayReplace && endedIdle(transaction) && !signal.aborted) {
      client.close()
      return undefined
    }
    if (transaction.error?.code === 'ESTREAM') {
      // Our data could not be read to its end; without the dot the server takes nothing.
      client.close()
      throw isError(transaction.error.cause) ? transaction.error.cause : transaction.error
    }
    const refused = siteOfPlaintext(client, transaction)
    if (refused !== undefined) {
      client.close()
      return { result: named(session, refused), maySendElsewhere: true }
    }
    void this.#sessions.returned(session, transaction)
    const outcome = resultOf(transaction, request.recipients)
    const result = named(session, request.dsn === undefined ? outcome : relayedBy(client, outcome))
    return { result, maySendElsewhere: isPutOff(result) && nobodyHas(transaction) }
  }

  async #transacted(
    client: SmtpClient,
    sending: Sending,
    form: Form,
    signal: AbortSignal,
  ): Promise<Transaction> {
    const { request, smtputf8 } = sending
    let grace: Timer | undefined
    // Behind the end of the data the server may have taken the message, so the operator waits
    // shortly for its answer.
    const close = (): void => {
      if (client.isBehindData && isWithdrawn(signal))
        grace = this.#sessions.clock.after(answerGraceMs, () => client.close())
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

  /** Looks at the data before the server hears of it; a failure is no fault of the server. */
  async #looked<T>(session: Session, found: Promise<T>): Promise<T> {
    try {
      return await found
    } catch (error) {
      this.#sessions.keep(session)
      throw error
    }
  }

  async #deliver(request: DeliveryRequest, signal: AbortSignal): Promise<DeliveryResult> {
    const places = await this.#placesOf(request, signal)
    if ('kind' in places) return places
    assert(places.length > 0, 'mail goes somewhere, or there is a reason')
    const streamed = request.dataBytes > streamedBytesMin
    const whole = streamed ? undefined : await request.data()
    if (whole !== undefined && !Buffer.isBuffer(whole)) {
      return { kind: 'deferred', status: '4.3.5', reason: 'this transport cannot fetch data kept elsewhere' }
    }
    const sending = new Sending(request, whole, this.#signer)
    const troubles: Trouble[] = []
    const left = [...places]
    let answer: Answer | undefined
    let answerCount = 0
    let mayReplace = true
    let waiting = this.#sessions.idle(places, request.attempts)
    for (let place = waiting?.place ?? left[0]; place !== undefined; place = left[0]) {
      const session = waiting ?? (await this.#sessions.opened(place, request.attempts, signal))
      waiting = undefined
      const given =
        'client' in session ? await this.#offered(session, sending, mayReplace, signal) : { trouble: session }
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
    return answer?.result ?? troubleOfAll(troubles)
  }
}

/** A request may be an instance of any class, so members are copied by name. */
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

/** A name without a domain is an address of the server's. */
const isUnwritable = (address: string): boolean => /[\p{Cc}<>]/u.test(address) && !isMailAddress(address)

const noForm = (status: string): Outcome => ({ kind: 'failed', status, reason: 'no form in SMTP' })

/** @returns the form, or the outcome of a message that the server cannot take */
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

/** Adds the server's name, and the TLS session of a delivery. */
function named({ client, place }: Session, result: DeliveryResult): DeliveryResult {
  const { name, isFound = false } = place
  const { tlsSession: tls } = client
  const of = <T extends Outcome | SiteTrouble>(outcome: T): T => {
    const said = saidBy(name, isFound, outcome)
    return said.kind === 'delivered' && tls !== undefined ? { ...said, tls } : said
  }
  return 'kind' in result ? of(result) : result.map(of)
}

/** RFC 3461 §5.2.2: a server with DSN reports to the sender; others do not, and a final one
 * delivers itself. */
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

const last = (result: DeliveryResult): Answer => ({ result, maySendElsewhere: false })

/** The result if no place had a session. A site with a server that this machine could not ask is
 * not known to be in trouble. */
function troubleOfAll(troubles: readonly Trouble[]): Trouble {
  const isOurs = troubles.some(({ kind }) => kind === 'deferred')
  const final = troubles.findLast(({ remote }) => remote !== undefined) ?? troubles.at(-1)
  assert(final !== undefined, 'a place where there is no session has a reason')
  if (troubles.length === 1) return final
  const others = troubles
    .filter((trouble) => trouble !== final)
    .map(({ reason, remote }) => reasonText('', reason, remote))
  return {
    ...final,
    kind: isOurs ? 'deferred' : 'site',
    reason: others.join('; ') + andLastly + final.reason,
  }
}

const isPutOff = (result: DeliveryResult): boolean =>
  ('kind' in result ? [result] : result).every(({ kind }) => kind === 'site' || kind === 'deferred')

/** The end of the data never left, or the server said that it did not take it. */
const nobodyHas = ({ dotSent, error }: Transaction): boolean => !dotSent || isRefusal(error?.response ?? '')

/** A reused session was over, or the server takes no further message on it; a new session may take
 * the message. A refusal at MAIL may mean that (`450 too many messages in this session`); if not,
 * one connection is wasted.
 *    1. data leaves on a reused connection
 *    2. the server takes the message and closes
 *    3. sent again, it is delivered twice
 * So no message is sent again after the first octet of data. */
function endedIdle({ error, answered, dotSent, isCut }: Transaction): boolean {
  if (error === undefined || dotSent || isCut) return false
  const { response, command, code } = error
  if (response === undefined) return !answered || code === 'ECONNECTION' || code === 'ESOCKET'
  return isClosing(response) || (isRefusal(response) && command === 'MAIL FROM')
}
