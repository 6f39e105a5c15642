/** SMTP in: a server that hands mail to a queue.
 * Invariant: what `250` means is said in smtp-handlers.ts. It relays for trusted networks and
 * logged-in users, and takes mail for the relay domains and the aliases from every client. Others
 * get `554 5.7.1` for each recipient. */
import { hostname as machineName } from 'node:os'
import type { SMTPServerAddress, SMTPServerOptions as SessionOptions, SMTPServerSession } from 'smtp-server'
import { isError } from '../../base/realms.js'
import { WaybillError } from '../../errors.js'
import type { Aliases } from '../tables/aliases.js'
import { clientNetwork } from './client-networks.js'
import type { Bound } from '../listening.js'
import { ExpandedRecipients } from './expanded-recipients.js'
import { Logins } from './logins.js'
import {
  clientOf,
  plainAddress,
  smtpHandlers,
  type Client,
  type SmtpHandlerOptions,
  type SmtpHandlers,
  type SubmitPort,
} from './smtp-handlers.js'
import { ReplyError } from '../parameters/reply-error.js'
import { routeRefusal, standingAtDoor, unknownUser } from '../parameters/recipient-refusal.js'
import type { RelayDomains } from '../tables/relay-domains.js'
import type { RefusedRecipients } from '../tables/route-verdict.js'
import { shownSender, type Senders } from '../tables/senders.js'
import { SessionServer, type Certificate, type Place } from './session-server.js'
import type { Ends } from './smtp-session.js'
import { loopbackNetworks, networkList } from './client-networks.js'
import { nameLengthMax, type Users } from '../tables/users.js'

/** A client was told no. */
export interface Refusal {
  readonly client: Client
  readonly sender: string | undefined
  /** The recipient that was refused; undefined: the sender, or the whole message. */
  readonly recipient: string | undefined
  /** The beginning of the name of a login; undefined: none. */
  readonly login: string | undefined
  /** What the client was told, its enhanced code first. */
  readonly reply: string
}

/** What clients are shown and asked for; it may change while the server listens. */
export interface ClientTables {
  /** TLS is offered only with one. */
  readonly tls?: Certificate
  /** Users that may log in, over TLS only; they are trusted from any network. AUTH is offered
   * only with them. */
  readonly users?: Users
  /** Domains and addresses that accept mail from every client, and addresses that accept none:
   * `550 5.1.1`.
   * @see Postfix relay_domains, relay_recipient_maps, smtpd_reject_unlisted_recipient */
  readonly relayDomains?: RelayDomains
  /** Aliases, for mail from any client; every client may write to an address with a line.
   * @see Postfix virtual_alias_maps */
  readonly aliases?: Aliases
  /** Recipients whose mail is refused from every client: `550`, with the text of the line. Not
   * asked about an address with a line in `aliases`. */
  readonly refused?: RefusedRecipients
  /** What senders are to the world, in envelope and header, of mail from clients that may relay.
   * @see Postfix smtp_generic_maps, masquerade_domains */
  readonly senders?: Senders
}

export interface SmtpListener {
  /** In the order of the places that were asked for. */
  readonly ports: readonly Bound[]
  /** All or nothing: handshakes from now on show this certificate, passwords from now on are
   * checked with these users, recipients with these domains and aliases. Open sessions go on as
   * they are, and their users stay logged in. What is not named stays; what the server began
   * without does not come.
   * @throws WaybillError OPTION_INVALID when it is no certificate and its key */
  readonly takeUp: (tables: ClientTables) => Promise<void>
  /** Drops the ports; sessions go on. */
  readonly closePorts: () => void
  /** Drops the ports, answers the messages that have come as a whole, and says 421 to every client.
   * Settles when all sessions have ended: a client that reads nothing prevents that. */
  readonly leave: () => Promise<void>
  /** Drops the ports and every connection. */
  readonly close: () => void
}

export interface SmtpServerOptions extends SmtpHandlerOptions, ClientTables {
  /** At least one. */
  readonly places: readonly Place[]
  /** `local` takes mail from everyone, for delivery here. `relay` takes it from trusted networks,
   * and from logged-in clients, for anywhere. With `relayDomains` both do so, and take from
   * everyone what is for these; what is for `aliases` both always do. */
  readonly purpose: 'local' | 'relay'
  /** Addresses or networks; default: this machine (loopback, and clients with the address that
   * they connect to). */
  readonly trust?: readonly string[]
  /** Addresses or networks of balancers: what comes from them begins with the line `PROXY` of
   * HAProxy's protocol, version 1, which names the client. Default: none. */
  readonly proxyProtocol?: readonly string[]
  /** Whether the header of mail from clients that may relay is completed
   * (completed-header.ts). Default: yes. */
  readonly completesHeader?: boolean
  /** Milliseconds that strangers wait for the greeting; default 100; trusted clients do not
   * wait. */
  readonly greetDelayMs?: number
  /** Sessions at once of trusted and logged-in clients, and as many of all others together; default
   * 500; more get 421. One that has left counts until it is decided what becomes of its message. */
  readonly sessionsMax?: number
  /** Sessions at once of one untrusted address, or IPv6 /64; default 50; more get 421.
   * @see Postfix smtpd_client_connection_count_limit */
  readonly sessionsPerClientMax?: number
  /** Milliseconds without a byte from the client; default 300 000 (RFC 5321 §4.5.3.2.7). For
   * strangers, and for all when half of the places are taken, also for a whole request, as
   * client-pace.ts has it. */
  readonly idleTimeoutMs?: number
  /** What a sender, a recipient or a message was refused for; not what smtp-server refuses on its
   * own, such as a SIZE too large. */
  readonly onRefusal?: (refusal: Refusal) => void
}

/** Commands of sendmail's early days, to which smtp-server has answers. */
const jokes = ['WIZ', 'SHELL', 'KILL']

const wrongLogin = (): ReplyError =>
  new ReplyError({ code: 535, enhanced: '5.7.8' }, 'wrong name or password')
const busyLogin = (): ReplyError => new ReplyError({ code: 454, enhanced: '4.7.0' }, 'try again later')

/** What clients may do, by the tables as they are now. */
class ClientRights {
  readonly #hostname: string
  /** Where an address stands that no table names. */
  readonly #usual: 'listed' | 'elsewhere'
  readonly #isListed: (address: string) => boolean
  readonly #trustsThisMachine: boolean
  #relayDomains: RelayDomains | undefined
  #aliases: Aliases | undefined
  #refused: RefusedRecipients | undefined
  #senders: Senders | undefined

  /** @throws WaybillError OPTION_INVALID */
  constructor(options: SmtpServerOptions, hostname: string) {
    this.#hostname = hostname
    this.#usual = ({ local: 'listed', relay: 'elsewhere' } as const)[options.purpose]
    this.#isListed = networkList(options.trust ?? loopbackNetworks)
    this.#trustsThisMachine = options.trust === undefined
    this.#relayDomains = options.relayDomains
    this.#aliases = options.aliases
    this.#refused = options.refused
    this.#senders = options.senders
  }

  get aliases(): Aliases | undefined {
    return this.#aliases
  }

  /** A client of this machine is trusted by default, whatever address it comes from:
   *    1. the server listens on an address of the network
   *    2. `sendmail` here connects to it, and comes from it
   *    3. cron's mail is refused for good */
  isTrusted({ remoteAddress, localAddress }: Ends): boolean {
    return (
      this.#isListed(remoteAddress) ||
      (this.#trustsThisMachine && remoteAddress === localAddress && remoteAddress !== '')
    )
  }

  mayRelay(session: SMTPServerSession): boolean {
    return this.isTrusted(session) || typeof session.user === 'string'
  }

  /** Why a client may not write to a recipient; undefined: it may. */
  refusalOf(session: SMTPServerSession, recipient: string): ReplyError | undefined {
    const tables = { relayDomains: this.#relayDomains, aliases: this.#aliases, refused: this.#refused }
    const plain = plainAddress(recipient, this.#hostname)
    const standing = standingAtDoor(tables, recipient, plain, this.#usual)
    if (standing === 'unknown') return unknownUser()
    if (standing !== 'listed' && !this.mayRelay(session))
      return new ReplyError({ code: 554, enhanced: '5.7.1' }, 'relay access denied')
    return routeRefusal(tables, plain)
  }

  /** What a sender is to the world. */
  shown(sender: string): string {
    return this.#senders === undefined ? sender : shownSender(this.#senders, sender)
  }

  /** A table that was not there at the beginning does not come. */
  renew({ relayDomains, aliases, refused, senders }: ClientTables): void {
    this.#relayDomains &&= relayDomains ?? this.#relayDomains
    this.#aliases &&= aliases ?? this.#aliases
    this.#refused &&= refused ?? this.#refused
    this.#senders &&= senders ?? this.#senders
  }
}

/** A callback of a handler that also reports what is refused. */
function reporting<Rest extends unknown[]>(
  onRefusal: SmtpServerOptions['onRefusal'],
  session: SMTPServerSession,
  { recipient, login }: Partial<Pick<Refusal, 'recipient' | 'login'>>,
  done: (error?: Error | null, ...rest: Rest) => void,
): (error?: Error | null, ...rest: Rest) => void {
  return (error, ...rest) => {
    if (error) {
      const { mailFrom } = session.envelope
      const sender = mailFrom === false ? undefined : mailFrom.address
      onRefusal?.({ client: clientOf(session), sender, recipient, login, reply: error.message })
    }
    done(error, ...rest)
  }
}

/** Handles AUTH. */
const loginHandler =
  (logins: Logins, { onRefusal, onError }: SmtpServerOptions): NonNullable<SessionOptions['onAuth']> =>
  ({ username = '', authzid = '', password }, session, done) => {
    const told = reporting(onRefusal, session, { login: username.slice(0, nameLengthMax) }, done)
    // Nobody sends in the name of another.
    const isItself = authzid === '' || authzid === username
    logins.isRight(username, password ?? '', clientNetwork(session.remoteAddress)).then(
      (isRight) => {
        if (isRight === undefined) told(busyLogin())
        else if (isRight && isItself) told(null, { user: username })
        else told(wrongLogin())
      },
      (error: unknown) => {
        onError?.(isError(error) ? error : new Error(String(error)))
        told(busyLogin())
      },
    )
  }

/** Handles MAIL, RCPT and DATA: what a client may not do is refused before `handlers` see it.
 * @param recipients undefined: there are no aliases */
function guarded(
  queue: SubmitPort,
  rights: ClientRights,
  handlers: SmtpHandlers,
  recipients: ExpandedRecipients | undefined,
  { hostname, onRefusal }: SmtpServerOptions & { readonly hostname: string },
): Pick<SmtpHandlers, 'onMailFrom' | 'onRcptTo' | 'onData'> {
  const taken = (recipient: SMTPServerAddress, session: SMTPServerSession): ReplyError | null => {
    const { aliases } = rights
    if (aliases === undefined || recipients === undefined) return null
    const countMax = Math.min(
      queue.limits.recipientCountMax,
      Math.max(handlers.maxRecipients, aliases.countMax ?? 0),
    )
    const plain = plainAddress(recipient.address, hostname)
    return recipients.take(recipient, plain, session, { aliases, countMax })
  }
  return {
    onMailFrom: (sender, session, done) =>
      handlers.onMailFrom(sender, session, reporting(onRefusal, session, {}, done)),
    onRcptTo: (recipient, session, done) => {
      const told = reporting(onRefusal, session, { recipient: recipient.address }, done)
      const refusal = rights.refusalOf(session, recipient.address)
      if (refusal === undefined)
        handlers.onRcptTo(recipient, session, (error) => told(error ?? taken(recipient, session)))
      else told(refusal)
    },
    onData: (source, session, done) =>
      handlers.onData(source, session, reporting(onRefusal, session, {}, done)),
  }
}

/** Resolves when the server answers. A client that waits for a reply when it is closed gets none.
 * @throws WaybillError OPTION_INVALID; the system's error when the port cannot be had */
export async function listenSmtp(queue: SubmitPort, given: SmtpServerOptions): Promise<SmtpListener> {
  const options = { ...given, hostname: given.hostname ?? machineName() }
  const { hostname, places, tls, users, aliases, senders } = options
  // Smtp-server has a default one, whose key is public.
  if (tls === undefined && places.some(({ implicitTls }) => implicitTls))
    throw new WaybillError('OPTION_INVALID', 'TLS needs a certificate', { option: 'tls' })
  const rights = new ClientRights(options, hostname)
  const recipients = aliases === undefined ? undefined : new ExpandedRecipients()
  const mayRelay = (session: SMTPServerSession): boolean => rights.mayRelay(session)
  const handlers = smtpHandlers(queue, options, {
    recipients,
    mayAskHandling: mayRelay,
    ...(options.completesHeader === false ? undefined : { completes: mayRelay }),
    ...(senders && { shown: (sender) => rights.shown(sender) }),
  })
  const logins = new Logins(users ?? new Map())
  const greetDelayMs = options.greetDelayMs ?? 100
  const server = new SessionServer(
    {
      ...tls,
      ...handlers,
      ...guarded(queue, rights, handlers, recipients, options),
      name: hostname,
      banner: 'Waybill',
      heloResponse: '%s',
      rejectOversized: true,
      maxClients: options.sessionsMax ?? 500,
      socketTimeout: options.idleTimeoutMs ?? 300_000,
      disabledCommands: disabledCommands(options),
      authMethods: ['PLAIN', 'LOGIN'],
      authOptional: true,
      hideENHANCEDSTATUSCODES: false,
      disableReverseLookup: true,
      logger: false,
      onConnect: (_session, done) => done(),
      onAuth: loginHandler(logins, options),
    },
    (ends) =>
      rights.isTrusted(ends)
        ? { greetDelayMs: 0, sessionsMax: Infinity }
        : { greetDelayMs, sessionsMax: options.sessionsPerClientMax ?? 50 },
    queue.startQueue,
    networkList(options.proxyProtocol ?? [], 'proxyProtocol'),
  )
  reportErrors(server, options.onError)
  const close = (): void => server.abandon()
  const takeUp = (tables: ClientTables): void => {
    // The one that may be refused comes first.
    if (tables.tls !== undefined) server.renewCertificate(tables.tls)
    if (tables.users !== undefined) logins.renew(tables.users)
    rights.renew(tables)
  }
  const ports: Bound[] = []
  try {
    for (const place of places) ports.push(await server.listenAt(place))
  } catch (error) {
    close()
    throw error
  }
  return {
    ports,
    takeUp: async (tables) => takeUp(tables),
    closePorts: () => server.closePorts(),
    leave: () => server.leave(),
    close,
  }
}

const disabledCommands = ({ users, tls }: SmtpServerOptions): string[] => [
  ...jokes,
  ...(users === undefined ? ['AUTH'] : []),
  ...(tls === undefined ? ['STARTTLS'] : []),
]

function reportErrors(server: SessionServer, onError: SmtpServerOptions['onError']): void {
  let lastError: Error | undefined
  server.on('error', (error) => {
    // A failed handshake is reported twice.
    if (error !== lastError) onError?.(error)
    lastError = error
  })
}
