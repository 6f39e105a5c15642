/** The options of SMTP out. Every number has a unit, a default and bounds, and is checked here:
 * milliseconds up to a day, counts up to a million; and so is what could send mail unencrypted or
 * astray. */
import type { ConnectionOptions } from 'node:tls'
import type { Clock } from '../../base/clock.js'
import { checkOptionNames, hostOption, integerOption, waitMsMax } from '../../base/options.js'
import type { Conversation } from '../../delivery/conversation.js'
import { WaybillError } from '../../errors.js'
import type { DkimKey } from '../dkim/dkim-keys.js'
import type { DkimSigns } from '../dkim/dkim-signer.js'
import type { PhaseTimes } from './phased-connection.js'
import { sourceAddressesOf } from '../dns/source-addresses.js'
import {
  allowsPlaintext,
  isVerifying,
  tlsPoliciesOf,
  type TlsLevel,
  type TlsPolicies,
  type TlsPolicyLine,
} from '../tls/tls-policy.js'

/** More of anything than there can be. */
export const countMax = 1_000_000

export const tlsWays = ['none', 'opportunistic', 'required', 'implicit'] as const

export interface SmtpTransportOptions {
  /** Server for all mail; without it, mail goes to the nexthop, `host` or `host:port` or
   * `[address]:port`. */
  readonly host?: string
  /** Default 25 (465 with implicit TLS). */
  readonly port?: number
  /** Our name in EHLO; default: the machine's name. */
  readonly hostname?: string
  /** `opportunistic` (default): encrypted if the server offers it and does not refuse it, without a
   * check of its name; a failed handshake defers a message's first attempt, and sends it in
   * plaintext at each later one, unless `tlsOptions` ask for a certificate that verifies. A
   * plaintext connection made so is used again by such attempts alone. `required`: STARTTLS with a
   * certificate that verifies. `implicit`: the same from the first byte. Neither ever falls back.
   * `none`: never encrypted.
   * @see Postfix TLS_README, security level "may" */
  readonly tls?: (typeof tlsWays)[number]
  /** More for `tls.connect`. */
  readonly tlsOptions?: ConnectionOptions
  /** Another word than `tls` for some destinations, which are known by the nexthop, or by `host`
   * and `port` when there is one. With implicit TLS a line says what the certificate has to be.
   * Default: none.
   * @see Postfix smtp_tls_policy_maps */
  readonly tlsPolicy?: readonly TlsPolicyLine[]
  /** Only with verified TLS, `required` or `implicit`, and by `tlsPolicy` `verify` or `secure`. */
  readonly auth?: { readonly user: string; readonly pass: string }
  /** Milliseconds until there is a connection, with implicit TLS its handshake too; default 30
   * 000. */
  readonly connectTimeoutMs?: number
  /** Milliseconds for the greeting, and as many for a handshake behind STARTTLS; default 300 000.
   * RFC 5321 §4.5.3.2.1
   * @see Postfix smtp_helo_timeout, smtp_starttls_timeout */
  readonly greetingTimeoutMs?: number
  /** Milliseconds without a byte before the connection is given up, default 300 000; twice as many
   * for the answer to the message. When it is given, it is the default of the six below. */
  readonly silenceTimeoutMs?: number
  /** The same for the reply to EHLO, default 300 000. @see Postfix smtp_helo_timeout */
  readonly heloTimeoutMs?: number
  /** For the reply to MAIL FROM, default 300 000. @see Postfix smtp_mail_timeout */
  readonly mailTimeoutMs?: number
  /** For the reply to RCPT TO, default 300 000. @see Postfix smtp_rcpt_timeout */
  readonly rcptTimeoutMs?: number
  /** For the reply to DATA, default 120 000. @see Postfix smtp_data_init_timeout */
  readonly dataInitTimeoutMs?: number
  /** For data of which the server takes no octet, default 180 000.
   * @see Postfix smtp_data_xfer_timeout */
  readonly dataXferTimeoutMs?: number
  /** For the reply to the end of the data, default 600 000: what a server answers too late it has
   * delivered all the same.
   * @see Postfix smtp_data_done_timeout */
  readonly dataDoneTimeoutMs?: number
  readonly connectionReuse?: {
    /** Milliseconds that an unused connection is kept; default 2000; 0 uses none again. */
    readonly idleMs?: number
    /** Messages over one connection; default 1000. */
    readonly messagesMax?: number
  }
  /** Open connections; default 200; further attempts wait. The scheduler's limits are
   * meant to be lower. */
  readonly connectionsMax?: number
  /** From which addresses of this machine servers are reached: one of IPv4, one of IPv6, or one of
   * each; `0.0.0.0` and `::` are any of their family. A family of which none is here is not used:
   * mail for a server that has no address of the other one waits, with 4.4.4. Of a server that is
   * named, IPv6 is tried first. Default: the system's choice.
   * @see Postfix smtp_bind_address, smtp_bind_address6, inet_protocols */
  readonly sourceAddresses?: readonly string[]
  /** Signs mail as it leaves (DKIM, RFC 6376), anew at every attempt: what the queue holds stays as
   * it was submitted. By the domain of the one address in its From field, or the nearest domain
   * above that has a key: one RSA key and one Ed25519 key a domain, both of which sign. Mail
   * without such an author leaves without a signature. Default: no signature. */
  readonly dkim?: readonly DkimKey[]
  /** Is an attempt for these recipients signed? Default: every one. For servers that take mail from
   * strangers: it should leave as it came. */
  readonly dkimSigns?: DkimSigns
  /** Takes what was said to a server and by it, behind each transaction, by the id of its
   * message: without the data of messages, and without logins. Default: nobody does. */
  readonly onConversation?: (id: string, conversation: Conversation) => void
  readonly clock?: Clock
}

const timeouts = [
  'connectTimeoutMs',
  'greetingTimeoutMs',
  'silenceTimeoutMs',
  'heloTimeoutMs',
  'mailTimeoutMs',
  'rcptTimeoutMs',
  'dataInitTimeoutMs',
  'dataXferTimeoutMs',
  'dataDoneTimeoutMs',
] as const

/** How long each reply is waited for. */
export function phaseTimesOf(options: Pick<SmtpTransportOptions, (typeof timeouts)[number]>): PhaseTimes {
  const { silenceTimeoutMs: silence } = options
  return {
    helo: options.heloTimeoutMs ?? silence ?? 300_000,
    mail: options.mailTimeoutMs ?? silence ?? 300_000,
    rcpt: options.rcptTimeoutMs ?? silence ?? 300_000,
    dataInit: options.dataInitTimeoutMs ?? silence ?? 120_000,
    dataXfer: options.dataXferTimeoutMs ?? silence ?? 180_000,
    dataDone: options.dataDoneTimeoutMs ?? (silence === undefined ? 600_000 : 2 * silence),
    other: silence ?? 300_000,
  }
}

/** @throws WaybillError OPTION_INVALID */
export function checkSmtpOptions(options: SmtpTransportOptions): void {
  checkOptionNames(options, {
    host: true,
    port: true,
    hostname: true,
    tls: true,
    tlsOptions: true,
    tlsPolicy: true,
    auth: true,
    connectTimeoutMs: true,
    greetingTimeoutMs: true,
    silenceTimeoutMs: true,
    heloTimeoutMs: true,
    mailTimeoutMs: true,
    rcptTimeoutMs: true,
    dataInitTimeoutMs: true,
    dataXferTimeoutMs: true,
    dataDoneTimeoutMs: true,
    connectionReuse: true,
    connectionsMax: true,
    sourceAddresses: true,
    dkim: true,
    dkimSigns: true,
    onConversation: true,
    clock: true,
  })
  checkConnectionOptions(options, tlsWays)
  const { host, tls, auth } = options
  // Nodemailer takes '' for a host that was not told, and this machine instead.
  if (host !== undefined) hostOption('host', host)
  if (auth !== undefined && tls !== 'required' && tls !== 'implicit')
    throw new WaybillError(
      'OPTION_INVALID',
      'credentials travel only over TLS that is required or implicit',
      { option: 'auth' },
    )
  if (auth !== undefined) checkOptionNames(auth, { user: true, pass: true }, 'auth')
  if (auth !== undefined && (!isWord(auth.user) || !isWord(auth.pass)))
    throw new WaybillError('OPTION_INVALID', 'credentials are a user and a pass', { option: 'auth' })
}

/** @throws WaybillError OPTION_INVALID */
export function serverPoliciesOf({ tls, auth, tlsPolicy = [] }: SmtpTransportOptions): TlsPolicies {
  const policies = tlsPoliciesOf(tlsPolicy, false)
  for (const [index, { level }] of tlsPolicy.entries()) {
    const refusal = serverLevelRefusal(level, tls, auth)
    if (refusal !== undefined)
      throw new WaybillError('OPTION_INVALID', refusal, { option: `tlsPolicy[${index}]` })
  }
  return policies
}

/** @returns why there is no such level for a server that is talked to so */
export function serverLevelRefusal(
  level: TlsLevel,
  tls: SmtpTransportOptions['tls'],
  auth: SmtpTransportOptions['auth'],
): string | undefined {
  if (auth !== undefined && !isVerifying(level))
    return `credentials travel only over TLS that verifies: verify or secure, not ${level}`
  return tls === 'implicit' && allowsPlaintext(level)
    ? `TLS that is implicit is always there: encrypt, verify or secure, not ${level}`
    : undefined
}

const isWord = (value: unknown): boolean => typeof value === 'string' && value !== ''

/** The options that all kinds of servers share, except `dkim` and `tlsPolicy`. @param ways for
 * `tls`
 * @throws WaybillError OPTION_INVALID */
export function checkConnectionOptions(
  options: Omit<SmtpTransportOptions, 'host' | 'auth'>,
  ways: readonly NonNullable<SmtpTransportOptions['tls']>[],
): void {
  const { tls = 'opportunistic', tlsOptions = {}, port, hostname, connectionReuse = {} } = options
  checkOptionNames(connectionReuse, { idleMs: true, messagesMax: true }, 'connectionReuse')
  if (!ways.includes(tls))
    throw new WaybillError('OPTION_INVALID', `'${String(tls)}' is none of ${ways.join(', ')}`, {
      option: 'tls',
    })
  if (typeof tlsOptions !== 'object' || tlsOptions === null)
    throw new WaybillError('OPTION_INVALID', 'expected an object of options for tls.connect', {
      option: 'tlsOptions',
    })
  integerOption('port', port ?? 1, 1, 65_535)
  if (hostname !== undefined) hostOption('hostname', hostname)
  const { idleMs = 0, messagesMax = 1 } = connectionReuse
  integerOption('connectionReuse.idleMs', idleMs, 0, waitMsMax)
  integerOption('connectionReuse.messagesMax', messagesMax, 1, countMax)
  for (const option of timeouts) integerOption(option, options[option] ?? 1, 1, waitMsMax)
  integerOption('connectionsMax', options.connectionsMax ?? 1, 1, countMax)
  sourceAddressesOf(options.sourceAddresses)
}
