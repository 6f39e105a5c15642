/** The options of SMTP out. Every number has a unit, a default and bounds, and is checked here:
 * milliseconds up to a day, counts up to a million; and so is what could send mail unencrypted or
 * astray. */
import type { ConnectionOptions } from 'node:tls'
import type { Clock } from '../../base/clock.js'
import {
  checkOptionNames,
  hostOption,
  integerOption,
  waitMsMax,
  type OptionNames,
} from '../../base/options.js'
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
  readonly host?: string | undefined
  /** Default 25 (465 with implicit TLS). */
  readonly port?: number | undefined
  /** Our name in EHLO; default: the machine's name. */
  readonly hostname?: string | undefined
  /** `opportunistic` (default): encrypted if the server offers it, without a check of its name. A
   * failed handshake defers a message's first attempt; later attempts use plaintext, except where
   * `tlsOptions` ask for a certificate that verifies. Such a plaintext connection is used again by
   * such attempts alone. `required`: STARTTLS with a certificate that verifies. `implicit`: the
   * same from the first byte. Neither ever falls back. `none`: never encrypted.
   * @see Postfix TLS_README, security level "may" */
  readonly tls?: (typeof tlsWays)[number] | undefined
  /** Further options for `tls.connect`. */
  readonly tlsOptions?: ConnectionOptions | undefined
  /** The TLS of some destinations, in place of `tls`. A destination is known by its nexthop, or by
   * `host` and `port` where these are set. With implicit TLS a line says which certificate the
   * server must show. Default: none.
   * @see Postfix smtp_tls_policy_maps */
  readonly tlsPolicy?: readonly TlsPolicyLine[] | undefined
  /** The login at the server. It is sent only over verified TLS: `required`, `implicit`, and the
   * levels `verify` and `secure` of `tlsPolicy`. */
  readonly auth?: { readonly user: string; readonly pass: string } | undefined
  /** How long a connection may take to open, milliseconds; with implicit TLS, its handshake too.
   * Default 30 000. */
  readonly connectTimeoutMs?: number | undefined
  /** How long the greeting may take, and again a handshake behind STARTTLS, milliseconds. Default
   * 300 000.
   * RFC 5321 §4.5.3.2.1
   * @see Postfix smtp_helo_timeout, smtp_starttls_timeout */
  readonly greetingTimeoutMs?: number | undefined
  /** How long a server may send nothing before the connection is given up, milliseconds; twice as
   * long for the answer to the message. Default 300 000. If set, it is the default of the six
   * options below. */
  readonly silenceTimeoutMs?: number | undefined
  /** How long the reply to EHLO may take, milliseconds. Default 300 000.
   * @see Postfix smtp_helo_timeout */
  readonly heloTimeoutMs?: number | undefined
  /** For the reply to MAIL FROM, milliseconds. Default 300 000. @see Postfix smtp_mail_timeout */
  readonly mailTimeoutMs?: number | undefined
  /** For the reply to RCPT TO, milliseconds. Default 300 000. @see Postfix smtp_rcpt_timeout */
  readonly rcptTimeoutMs?: number | undefined
  /** For the reply to DATA, milliseconds. Default 120 000. @see Postfix smtp_data_init_timeout */
  readonly dataInitTimeoutMs?: number | undefined
  /** How long a server may take no octet of the data, milliseconds. Default 180 000.
   * @see Postfix smtp_data_xfer_timeout */
  readonly dataXferTimeoutMs?: number | undefined
  /** For the reply to the end of the data, milliseconds. Default 600 000: a server whose answer
   * comes too late has delivered the message, and gets it again.
   * @see Postfix smtp_data_done_timeout */
  readonly dataDoneTimeoutMs?: number | undefined
  readonly connectionReuse?:
    | {
        /** How long an unused connection is kept, milliseconds; 0: no connection is used again.
         * Default 2000. */
        readonly idleMs?: number | undefined
        /** The most messages over one connection. Default 1000. */
        readonly messagesMax?: number | undefined
      }
    | undefined
  /** The most open connections; further attempts wait. Default 200. The scheduler's limits
   * should be lower. */
  readonly connectionsMax?: number | undefined
  /** The addresses of this machine that connections come from: one of IPv4, one of IPv6, or one of
   * each; `0.0.0.0` and `::` stand for any address of their family. A family without an address
   * here is not used: mail for a server that has addresses of that family alone waits, with 4.4.4.
   * IPv6 is tried first where a server is named. Default: the system's choice.
   * @see Postfix smtp_bind_address, smtp_bind_address6, inet_protocols */
  readonly sourceAddresses?: readonly string[] | undefined
  /** Keys that sign mail as it leaves (DKIM, RFC 6376), anew at every attempt; the queue holds mail
   * as it was submitted. The domain of the one address in the From field chooses the keys, or the
   * nearest domain above it that has one. A domain has up to one RSA key and one Ed25519 key, and
   * both sign. Mail without such an author is not signed. Default: none. */
  readonly dkim?: readonly DkimKey[] | undefined
  /** Decides whether an attempt is signed, by its recipients. Default: every attempt. A server that
   * takes mail from strangers should pass it on as it came. */
  readonly dkimSigns?: DkimSigns | undefined
  /** Gets the commands and replies of each transaction, when it has ended, with the message's id:
   * without the data of messages, and without logins. Default: none. */
  readonly onConversation?: ((id: string, conversation: Conversation) => void) | undefined
  readonly clock?: Clock | undefined
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

export const smtpOptionNames: OptionNames<SmtpTransportOptions> = {
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
}

/** @throws WaybillError OPTION_INVALID */
export function checkSmtpOptions(options: SmtpTransportOptions): void {
  checkOptionNames(options, smtpOptionNames)
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
