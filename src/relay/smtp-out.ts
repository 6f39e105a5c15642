/** Delivery over SMTP.
 * Invariant: a recipient is `delivered` only after a 2yz reply to the message and `failed` only after a 5yz reply, its own or the
 * message's; everything else is tried again. A message is sent a second time within one attempt only over a fresh connection,
 * and only if the server ended a reused one without a word to this transaction.
 *
 * Opportunistic TLS falls back to plaintext as Postfix's `may` does: a handshake that fails defers the first attempt, lest a passing
 * trouble downgrades anything; a server whose TLS is broken for good gets the mail without it from the second one on.
 *
 * Data leaves as it was accepted, dots doubled as RFC 5321 §4.5.2 asks. SMTP has no form for a bare CR or LF: each leaves as CRLF
 * (and cannot end the data early at a server that takes it for a line's end). */
import { isAscii } from 'node:buffer'
import { assert } from '../base/assert.js'
import { isInternational } from '../base/mail-address.js'
import { systemClock } from '../base/clock.js'
import type {
  DeliveryRequest,
  DeliveryResult,
  Outcome,
  SiteTrouble,
  Transport,
} from '../delivery/transport.js'
import { ConnectionPool } from './connection-pool.js'
import { SmtpClient, type ClientError, type Mail, type Transaction } from './smtp-client.js'
import { hasInternationalHeader } from './international-header.js'
import { checkSmtpOptions, type SmtpTransportOptions } from './smtp-out-options.js'
import { resultOf, siteOfError, siteOfPlaintext } from './smtp-outcome.js'
import { isClosing, isRefusal } from './smtp-reply.js'

/** Data over this is sent as a stream, bytes. */
const streamedBytesMin = 1 << 20

/** Longest reply that is read, bytes: those to recipients are held until the transaction has ended. */
const replyBytesMax = 64 << 10

/** @throws WaybillError OPTION_INVALID */
export function smtpTransport(options: SmtpTransportOptions = {}): Transport {
  checkSmtpOptions(options)
  const { tls = 'opportunistic', auth, clock = systemClock, silenceTimeoutMs = 300_000 } = options
  const pool = new ConnectionPool(
    {
      idleMs: options.connectionReuse?.idleMs ?? 2000,
      messagesMax: options.connectionReuse?.messagesMax ?? 1000,
      connectionsMax: options.connectionsMax ?? 200,
    },
    clock,
  )

  const tlsOptions = { rejectUnauthorized: tls !== 'opportunistic', ...options.tlsOptions }
  /** Who asks for a certificate that verifies does not mean plaintext instead. */
  const fallsBack = tls === 'opportunistic' && tlsOptions.rejectUnauthorized === false

  /** A connection with a session, for this attempt alone. */
  async function opened(
    nexthop: string,
    attempts: number,
    signal: AbortSignal,
  ): Promise<SmtpClient | SiteTrouble> {
    const target = targetOf(nexthop, options)
    if (target === undefined) return siteOfError(badNexthop(nexthop))
    const where = `${target.host}:${target.port}`
    const first = await connected(nexthop, target, tls, signal)
    if (first instanceof SmtpClient) return first
    if (!fallsBack || attempts === 0 || first.code !== 'ETLS') return siteOfError(first, where)
    const second = await connected(nexthop, target, 'none', signal)
    if (second instanceof SmtpClient) return second
    return siteOfError(second, `${where}: ${first.message}; without TLS`)
  }

  /** Takes one place in the pool, and gives it back if there is no session: nobody holds one while waiting for another. */
  async function connected(
    nexthop: string,
    target: Target,
    way: NonNullable<SmtpTransportOptions['tls']>,
    signal: AbortSignal,
  ): Promise<SmtpClient | ClientError> {
    const free = await pool.place(nexthop)
    if (free !== undefined) return free
    if (signal.aborted) {
      pool.cancel()
      return aborted()
    }
    const client = new SmtpClient({
      ...target,
      ...(options.hostname === undefined ? undefined : { name: options.hostname }),
      secure: way === 'implicit',
      requireTLS: way === 'required',
      ignoreTLS: way === 'none',
      opportunisticTLS: way === 'opportunistic',
      tls: tlsOptions,
      connectionTimeout: options.connectTimeoutMs ?? 30_000,
      greetingTimeout: options.greetingTimeoutMs ?? 300_000,
      socketTimeout: silenceTimeoutMs,
      socketCloseTimeout: 0,
      maxResponseSize: replyBytesMax,
    })
    client.isFallback = way !== tls
    pool.add(client)
    const close = (): void => client.close()
    signal.addEventListener('abort', close, { once: true })
    let error = await client.open()
    if (error === undefined && auth !== undefined) error = await client.authenticate(auth.user, auth.pass)
    signal.removeEventListener('abort', close)
    if (error === undefined) return client
    client.close()
    return error
  }

  async function transacted(client: SmtpClient, mail: Mail, signal: AbortSignal): Promise<Transaction> {
    const close = (): void => client.close()
    signal.addEventListener('abort', close, { once: true })
    const transaction = await client.transact(mail)
    signal.removeEventListener('abort', close)
    return transaction
  }

  /** A first attempt does not begin in the plaintext that another message fell back to. */
  const idle = (nexthop: string, attempts: number): SmtpClient | undefined =>
    pool.takeIdle(nexthop) ?? (attempts > 0 ? pool.takeIdle(plaintextTo(nexthop)) : undefined)

  const keep = (nexthop: string, client: SmtpClient): void =>
    pool.keep(client.isFallback ? plaintextTo(nexthop) : nexthop, client)

  /** A session that goes on is given back; one that was refused something has to leave the transaction first. */
  async function returned(client: SmtpClient, nexthop: string, transaction: Transaction): Promise<void> {
    const { error } = transaction
    // 1. an answer in the middle of the data  2. kept  3. the next message's MAIL is a line of this one's data
    if (transaction.isCut) client.close()
    else if (error === undefined) keep(nexthop, client)
    // What is no answer to a message is one to something else.
    else if (!isRefusal(error.response ?? '') || client.destroyed) client.close()
    else if (await cleared(client)) keep(nexthop, client)
    else client.close()
  }

  /** No attempt with its deadline watches over it any more: an answer that never ends would hold the place for ever. */
  async function cleared(client: SmtpClient): Promise<boolean> {
    const timer = clock.after(silenceTimeoutMs, () => client.close())
    const isClear = await client.clear()
    timer.cancel()
    return isClear
  }

  /** A client may say SMTPUTF8 of every message; only its letters make a server need it. RFC 6531 §3.1, Postfix's SMTPUTF8_FLAG_HEADER */
  async function headerNeedsMore(
    request: DeliveryRequest,
    whole: Buffer | undefined,
    client: SmtpClient,
    route: string,
  ): Promise<boolean> {
    try {
      return await hasInternationalHeader(whole ?? request.stream())
    } catch (error) {
      keep(route, client)
      throw error
    }
  }

  async function deliver(request: DeliveryRequest, signal: AbortSignal): Promise<DeliveryResult> {
    const { nexthop } = request
    const streamed = request.dataBytes > streamedBytesMin
    const whole = streamed ? undefined : await request.data()
    if (whole !== undefined && !Buffer.isBuffer(whole)) {
      return { kind: 'deferred', status: '4.3.5', reason: 'this transport cannot fetch data kept elsewhere' }
    }
    const route = options.host ?? nexthop
    const hasLetters = isInternational(request.sender) || request.recipients.some(isInternational)
    const smtputf8 = request.smtputf8 || hasLetters
    for (let isSecond = false; ; isSecond = true) {
      const client =
        (isSecond ? undefined : idle(route, request.attempts)) ??
        (await opened(route, request.attempts, signal))
      if (!(client instanceof SmtpClient)) return client
      let needsMore = smtputf8 && !client.offers('SMTPUTF8')
      if (needsMore && !hasLetters) needsMore = await headerNeedsMore(request, whole, client, route)
      if (signal.aborted || needsMore) {
        keep(route, client)
        if (signal.aborted) return siteOfError(aborted())
        return { kind: 'failed', status: '5.6.7', reason: 'the server does not offer SMTPUTF8' }
      }
      const isReused = client.transactionCount > 0
      const mail: Mail = {
        sender: request.sender,
        recipients: request.recipients,
        dataBytes: request.dataBytes,
        data: whole ?? request.stream(),
        smtputf8,
        eightBit: whole === undefined || !isAscii(whole),
      }
      const transaction = await transacted(client, mail, signal)
      if (isReused && !isSecond && endedIdle(transaction) && !signal.aborted) {
        client.close()
        continue
      }
      if (transaction.error?.code === 'ESTREAM') {
        // Our own data could not be read to its end; without the dot the server takes nothing.
        client.close()
        throw transaction.error.cause instanceof Error ? transaction.error.cause : transaction.error
      }
      const refused = client.isFallback ? siteOfPlaintext(transaction) : undefined
      if (refused !== undefined) {
        client.close()
        return refused
      }
      void returned(client, route, transaction)
      return resultOf(transaction, request.recipients)
    }
  }

  /** Nodemailer refuses a whole envelope for one address that it cannot write between angle brackets. */
  async function deliverWritable(request: DeliveryRequest, signal: AbortSignal): Promise<DeliveryResult> {
    const writable = request.recipients.filter((recipient) => !unwritable.test(recipient))
    if (writable.length === request.recipients.length) return deliver(request, signal)
    const result = writable.length === 0 ? [] : await deliver(withRecipients(request, writable), signal)
    let next = 0
    return request.recipients.map((recipient): Outcome => {
      if (unwritable.test(recipient)) return { kind: 'failed', status: '5.1.3', reason: 'no form in SMTP' }
      const outcome = 'kind' in result ? result : result[next++]
      assert(outcome !== undefined, 'every recipient sent has an outcome')
      return outcome.kind === 'site' ? { ...outcome, kind: 'deferred' } : outcome
    })
  }

  return { deliver: deliverWritable, close: () => pool.close() }
}

/** A request may be an instance of anything: what it has is asked for by name. */
const withRecipients = (request: DeliveryRequest, recipients: readonly string[]): DeliveryRequest => ({
  id: request.id,
  attempts: request.attempts,
  sender: request.sender,
  recipients,
  nexthop: request.nexthop,
  acceptedAt: request.acceptedAt,
  dataBytes: request.dataBytes,
  smtputf8: request.smtputf8,
  data: () => request.data(),
  stream: () => request.stream(),
})

/** What the pool calls the plaintext connections to a nexthop whose TLS failed; no nexthop has a space. */
const plaintextTo = (nexthop: string): string => `${nexthop} plaintext`

const unwritable = /[\r\n<>]/

/** The server had ended the session before it knew of this transaction. */
function endedIdle({ error, answered }: Transaction): boolean {
  if (error === undefined) return false
  return error.response === undefined ? !answered : isClosing(error.response) && error.command === 'MAIL FROM'
}

interface Target {
  readonly host: string
  readonly port: number
}

function targetOf(nexthop: string, options: SmtpTransportOptions): Target | undefined {
  const portUsual = options.port ?? (options.tls === 'implicit' ? 465 : 25)
  if (options.host !== undefined) return { host: options.host, port: portUsual }
  const match = /^(?:\[([^\]]+)\]|([^:\s]+))(?::(\d{1,5}))?$/.exec(nexthop)
  const host = match?.[1] ?? match?.[2]
  const port = Number(match?.[3] ?? portUsual)
  // Nodemailer takes 0 for a port that was not told, and one of its own instead.
  if (host === undefined || port < 1 || port > 65_535) return undefined
  return { host, port }
}

const badNexthop = (nexthop: string): ClientError =>
  Object.assign(new Error(`no host and port: ${JSON.stringify(nexthop)}`), { code: 'EDNS' })

const aborted = (): ClientError =>
  Object.assign(new Error('the attempt was abandoned'), { code: 'ECONNECTION' })
