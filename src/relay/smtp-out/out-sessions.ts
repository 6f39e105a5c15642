/** Sessions with servers: opened, encrypted or not, kept for the next message.
 * Invariant: a session belongs to one attempt at a time, and is given back only when the server
 * waits for MAIL. Nobody holds a place in the pool while waiting for another. What the server at
 * one place has come to is nothing to any other place, and what was opened under one demand for TLS
 * is nothing to mail under another: sessions, and plaintext because TLS failed, are kept by place
 * and demand.
 *
 * Opportunistic TLS falls back to plaintext as Postfix's `may` does: a failed handshake defers the
 * first attempt, so that passing trouble does not downgrade it; a server with broken TLS gets the
 * mail without it from the second attempt on. */
import { Socket } from 'node:net'
import { isError } from '../../base/realms.js'
import { assert } from '../../base/assert.js'
import { callOptionListener } from '../../engine/life/option-listener.js'
import { systemClock, type Clock } from '../../base/clock.js'
import { Transcript } from '../../delivery/conversation.js'
import type { SiteTrouble } from '../../delivery/transport.js'
import { isRefusal, type ClientError } from './smtp-reply.js'
import { ConnectionPool } from './connection-pool.js'
import type { SmtpClient } from './smtp-client.js'
import type { PhaseTimes } from './phased-connection.js'
import { phaseTimesOf, type SmtpTransportOptions } from './smtp-out-options.js'
import { saidBy, siteOfError, troubleOfError, type Trouble } from './smtp-outcome.js'
import { familiesOf, sourceAddressesOf, sourcesFor, type SourceAddresses } from '../dns/source-addresses.js'
import type { TlsDemand } from '../tls/tls-policy.js'
import { demandKey, termsOf, type TlsTerms } from './tls-terms.js'
import type { Transaction } from './transaction.js'

/** Where a server is. */
export interface Place {
  /** As an operator reads it, and as the pool knows it: without a space. */
  readonly name: string
  readonly host: string
  readonly port: number
  /** The name for TLS if `host` is an address that a name led to. */
  readonly servername?: string
  /** It was found by a lookup: its replies are shown with its name. The nexthop names any other. */
  readonly isFound?: true
  /** What is asked of TLS there; undefined: what the transport's options say. */
  readonly tls?: TlsDemand
  /** A connection, which is not made to host and port; when there is none to be had, why, if
   * that is known. */
  readonly connect?: () => Promise<Socket | ClientError | undefined>
}

export interface Session {
  readonly client: SmtpClient
  readonly place: Place
}

export interface SessionOptions extends Omit<SmtpTransportOptions, 'host' | 'port'> {
  /** The servers speak LMTP. */
  readonly lmtp?: true
}

/** The clients, and nodemailer below them: a program that sends nothing by SMTP does not load them.
 * @throws Error when this release of nodemailer lacks a member that they need */
export const smtpClients = (): Promise<typeof import('./checked-client.js')> => import('./checked-client.js')

/** Longest reply that is read, bytes: those to recipients are held until the transaction has
 * ended. */
const replyBytesMax = 64 << 10

/** What the pool knows its connections by. No name, and no key of a demand, has a space. */
const keyOf = ({ name, tls }: Place): string => (tls === undefined ? name : `${name} ${demandKey(tls)}`)

/** The same of plaintext connections because TLS failed. */
const plaintextTo = (place: Place): string => `${keyOf(place)} plaintext`

const abandoned = (): ClientError =>
  Object.assign(new Error('the attempt was abandoned'), { code: 'ECONNECTION' })

const unanswered = (): ClientError => Object.assign(new Error('nobody answers'), { code: 'ESOCKET' })

const noSourceFor = (sources: SourceAddresses): ClientError =>
  Object.assign(new Error(`servers are reached over ${familiesOf(sources)} alone`), { code: 'ESOCKET' })

/** No server has said a word. */
const isUnanswered = ({ code, command, response }: ClientError): boolean =>
  command === 'CONN' && code !== 'ETLS' && response === undefined

export const siteOfAbandoned = (): SiteTrouble => siteOfError(abandoned())

/** @returns undefined for a place at a host and port; or why there is none */
async function ownConnection(place: Place, signal: AbortSignal): Promise<Socket | ClientError | undefined> {
  const made = signal.aborted ? undefined : await place.connect?.()
  const connection = made instanceof Socket ? made : undefined
  if (!signal.aborted && (place.connect === undefined || connection?.destroyed === false)) return connection
  connection?.destroy()
  if (signal.aborted) return abandoned()
  return isError(made) ? made : unanswered()
}

export class OutSessions {
  readonly #options: SessionOptions
  readonly #silenceTimeoutMs: number
  readonly #times: PhaseTimes
  readonly clock: Clock
  readonly #sources: SourceAddresses
  #pool: ConnectionPool

  constructor(options: SessionOptions) {
    const { clock = systemClock, silenceTimeoutMs = 300_000 } = options
    this.#options = options
    this.#silenceTimeoutMs = silenceTimeoutMs
    this.#times = phaseTimesOf(options)
    this.clock = clock
    this.#sources = sourceAddressesOf(options.sourceAddresses)
    this.#pool = this.#newPool()
  }

  /** One that waits at the first of these places where one does. A first attempt does not begin in
   * the plaintext that another message fell back to. */
  idle(places: readonly Place[], attempts: number): Session | undefined {
    for (const place of places) {
      const client =
        this.#pool.takeIdle(keyOf(place)) ??
        (attempts > 0 ? this.#pool.takeIdle(plaintextTo(place)) : undefined)
      if (client !== undefined) return { client, place }
    }
    return undefined
  }

  /** Where they may begin; undefined: the system chooses. */
  get sources(): readonly string[] | undefined {
    return this.#sources && [...this.#sources.values()]
  }

  /** A session for this attempt alone. */
  async opened(place: Place, attempts: number, signal: AbortSignal): Promise<Session | Trouble> {
    const { tls } = place
    if (tls?.level === 'unmet')
      return { kind: 'site', status: '4.7.5', reason: `${place.name}: ${tls.reason}` }
    const terms = termsOf(tls, this.#options)
    const first = await this.#reached(place, terms, terms.way, signal)
    if (!isError(first)) return { client: first, place }
    if (!terms.fallsBack || attempts === 0 || first.code !== 'ETLS')
      return saidBy(place.name, true, troubleOfError(first))
    const second = await this.#reached(place, terms, 'none', signal)
    if (!isError(second)) return { client: second, place }
    return saidBy(place.name, true, troubleOfError(second, `${first.message}; without TLS: `))
  }

  /** A transaction about this message is over. What the listener throws changes nothing of it:
   *    1. the server takes the message
   *    2. the listener throws, and the attempt with it
   *    3. the message is put off, and sent again */
  tell(id: string, { client, place }: Session): void {
    const taken = client.transcript?.take()
    if (taken === undefined) return
    const conversation = { at: this.clock.wallMs(), server: place.name, ...taken }
    callOptionListener('onConversation', () => this.#options.onConversation?.(id, conversation))
  }

  /** Its transaction is over, or there was none. */
  keep({ client, place }: Session): void {
    this.#pool.keep(client.isFallback ? plaintextTo(place) : keyOf(place), client)
  }

  /** A session that goes on is given back; one that was refused something has to leave the
   * transaction first. */
  async returned(session: Session, transaction: Transaction): Promise<void> {
    const { client } = session
    const { error } = transaction
    //    1. an answer in the middle of the data
    //    2. kept
    //    3. the next message's MAIL is a line of this one's data
    if (transaction.isCut) client.close()
    else if (error === undefined) this.keep(session)
    // What is no answer to a message is one to something else.
    else if (!isRefusal(error.response ?? '')) client.close()
    else if (await this.#cleared(client)) this.keep(session)
    else client.close()
  }

  /** Drops every connection. An attempt that begins later belongs to another life, and has a
   * separate pool:
   *    1. the queue crashes
   *    2. its owner opens it again, with the same transport
   *    3. a pool that stays closed puts off all mail, for five days, and then it is returned */
  close(): void {
    this.#pool.close()
    this.#pool = this.#newPool()
  }

  #newPool(): ConnectionPool {
    const { connectionReuse, connectionsMax = 200 } = this.#options
    const { idleMs = 2000, messagesMax = 1000 } = connectionReuse ?? {}
    return new ConnectionPool({ idleMs, messagesMax, connectionsMax }, this.clock)
  }

  /** From one of the addresses that servers are reached from; from the other, where nobody has
   * answered. A connection of the place's own has none. */
  async #reached(
    place: Place,
    terms: TlsTerms,
    way: TlsTerms['way'],
    signal: AbortSignal,
  ): Promise<SmtpClient | ClientError> {
    let trouble = noSourceFor(this.#sources)
    const sources = place.connect === undefined ? sourcesFor(this.#sources, place.host) : [undefined]
    for (const source of sources) {
      const answer = await this.#connected(place, terms, way, source, signal)
      if (!isError(answer) || !isUnanswered(answer)) return answer
      trouble = answer
    }
    return trouble
  }

  /** Takes one place in the pool, and gives it back if there is no session. */
  async #connected(
    place: Place,
    terms: TlsTerms,
    way: TlsTerms['way'],
    source: string | undefined,
    signal: AbortSignal,
  ): Promise<SmtpClient | ClientError> {
    const options = this.#options
    const { CheckedClient, SmtpClient } = await smtpClients()
    const pool = this.#pool
    const free = await pool.place(keyOf(place))
    if (free !== undefined) return free
    const connection = await ownConnection(place, signal).catch((error: unknown) => {
      pool.cancel()
      throw error
    })
    if (isError(connection)) {
      pool.cancel()
      return connection
    }
    const { host, port, servername } = place
    const clientOptions = {
      host,
      port,
      ...(connection === undefined ? undefined : { connection }),
      ...(source === undefined ? undefined : { localAddress: source }),
      ...(servername === undefined ? undefined : { servername }),
      ...(options.hostname === undefined ? undefined : { name: options.hostname }),
      ...(options.lmtp === undefined ? undefined : { lmtp: true }),
      secure: way === 'implicit',
      requireTLS: way === 'required',
      ignoreTLS: way === 'none',
      opportunisticTLS: way === 'opportunistic',
      tls: terms.tlsOptions,
      connectionTimeout: options.connectTimeoutMs ?? 30_000,
      greetingTimeout: options.greetingTimeoutMs ?? 300_000,
      socketTimeout: this.#silenceTimeoutMs,
      socketCloseTimeout: 0,
      maxResponseSize: replyBytesMax,
    }
    const { check } = terms
    const client =
      check === undefined
        ? new SmtpClient(clientOptions, this.#times)
        : new CheckedClient(clientOptions, this.#times, check)
    client.isFallback = way !== terms.way
    if (options.onConversation !== undefined) client.transcript = new Transcript()
    pool.add(client)
    const close = (): void => client.close()
    signal.addEventListener('abort', close, { once: true })
    const { auth } = options
    let error = await client.open()
    const mayBePlain = way === 'none' || way === 'opportunistic'
    assert(error !== undefined || client.secure || mayBePlain, 'a session that must be encrypted is')
    const isChecked = !(client instanceof CheckedClient) || client.isPeerChecked
    assert(error !== undefined || isChecked, 'the certificate was checked where that was asked for')
    if (error === undefined && auth !== undefined) error = await client.authenticate(auth.user, auth.pass)
    signal.removeEventListener('abort', close)
    if (error === undefined) return client
    client.close()
    // A client that was closed before it was opened knows nothing of it.
    connection?.destroy()
    return error
  }

  /** No attempt with its deadline watches over it any more: an answer that never ends would hold
   * the place for ever. */
  async #cleared(client: SmtpClient): Promise<boolean> {
    const timer = this.clock.after(this.#silenceTimeoutMs, () => client.close())
    const cleared = client.clear()
    this.#pool.clearing(client)
    const isClear = await cleared
    timer.cancel()
    return isClear
  }
}
