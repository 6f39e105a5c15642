/** Parameters of the SMTP and LMTP clients, by the names of postconf(5): `smtp_connect_timeout=5s`.
 * Pure.
 * Invariant: those of `smtp` are for every transport that speaks SMTP, as in main.cf;
 * `relay_connect_timeout` and its like are for one, as `-o smtp_connect_timeout` behind its
 * line in master.cf. */
import { waitMsMax } from '../../../src/base/options.js'
import { readDuration } from '../../../src/policy/duration.js'
import { countMax, type SmtpTransportOptions } from '../../../src/relay/smtp-out/smtp-out-options.js'
import { isVerdict } from '../../../src/relay/tables/route-verdict.js'
import { UsageError } from '../cli/command.js'
import { transportLmtp, transportLocal, transportDefault } from './transport-names.js'

export type ClientOptions = Pick<
  SmtpTransportOptions,
  | 'connectTimeoutMs'
  | 'greetingTimeoutMs'
  | 'heloTimeoutMs'
  | 'mailTimeoutMs'
  | 'rcptTimeoutMs'
  | 'dataInitTimeoutMs'
  | 'dataXferTimeoutMs'
  | 'dataDoneTimeoutMs'
  | 'connectionReuse'
>

/** What was said of one transport's client. */
export interface SaidOfClient extends ClientOptions {
  readonly cachesConnections?: boolean
}

/** How a value is read, and the options that it makes of those before it. */
interface ClientParameter {
  readonly read: (text: string) => number | undefined
  readonly wanted: string
  readonly set: (options: SaidOfClient, value: number) => SaidOfClient
}

const time = (set: (ms: number) => ClientOptions): ClientParameter => ({
  read: (text) => within(/^\d+$/.test(text) ? Number(text) * 1000 : readDuration(text), 1, waitMsMax),
  wanted: 'a time from 1ms to 1d, such as 30s',
  set: (options, ms) => ({ ...options, ...set(ms) }),
})

const reuse = (
  read: ClientParameter['read'],
  wanted: string,
  of: (value: number) => NonNullable<ClientOptions['connectionReuse']>,
): ClientParameter => ({
  read,
  wanted,
  set: (options, value) => ({
    ...options,
    connectionReuse: { ...options.connectionReuse, ...of(value) },
  }),
})

const within = (value: number | undefined, least: number, most: number): number | undefined =>
  value !== undefined && value >= least && value <= most ? value : undefined

const yesNo: Readonly<Record<string, number>> = { yes: 1, no: 0 }

const parameters: ReadonlyMap<string, ClientParameter> = new Map<string, ClientParameter>([
  ['connect_timeout', time((ms) => ({ connectTimeoutMs: ms }))],
  // The greeting is a part of it, as in smtp(8).
  ['helo_timeout', time((ms) => ({ greetingTimeoutMs: ms, heloTimeoutMs: ms }))],
  ['mail_timeout', time((ms) => ({ mailTimeoutMs: ms }))],
  ['rcpt_timeout', time((ms) => ({ rcptTimeoutMs: ms }))],
  ['data_init_timeout', time((ms) => ({ dataInitTimeoutMs: ms }))],
  ['data_xfer_timeout', time((ms) => ({ dataXferTimeoutMs: ms }))],
  ['data_done_timeout', time((ms) => ({ dataDoneTimeoutMs: ms }))],
  [
    'connection_cache_on_demand',
    {
      read: (text) => yesNo[text],
      wanted: 'yes or no',
      set: (options, value) => ({ ...options, cachesConnections: value === 1 }),
    },
  ],
  [
    'connection_cache_time_limit',
    reuse(
      (text) => within(/^\d+$/.test(text) ? Number(text) * 1000 : readDuration(text), 0, waitMsMax),
      'a time up to 1d, such as 2s',
      (ms) => ({ idleMs: ms }),
    ),
  ],
  [
    'connection_reuse_count_limit',
    reuse(
      (text) => (/^\d{1,7}$/.test(text) ? within(Number(text), 0, countMax) : undefined),
      `a number from 0 (no limit) to ${countMax}`,
      (count) => ({ messagesMax: count === 0 ? countMax : count }),
    ),
  ],
])

/** As main.cf has them for LMTP. */
const lmtpNames: Readonly<Record<string, string>> = { lhlo_timeout: 'helo_timeout' }

const speaksSmtp = (transport: string): boolean => transport !== transportLocal && !isVerdict(transport)

/** A parameter of this transport's client, or undefined.
 * @param name without that of the transport */
export function clientParameter(transport: string, name: string): ClientParameter | undefined {
  if (!speaksSmtp(transport)) return undefined
  if (transport !== transportLmtp) return parameters.get(name)
  return name === 'helo_timeout' ? undefined : parameters.get(lmtpNames[name] ?? name)
}

/** @throws UsageError */
export function withClientParameter(
  options: SaidOfClient,
  { read, wanted, set }: ClientParameter,
  text: string,
  value: string,
): SaidOfClient {
  const number = read(value)
  if (number === undefined) throw new UsageError(`-o ${text}: expected ${wanted}`)
  return set(options, number)
}

/** @param clients what was said of each by name */
export function clientOptionsOf(
  clients: ReadonlyMap<string, SaidOfClient>,
  transport: string,
): ClientOptions {
  const own = clients.get(transport) ?? {}
  const usual = transport === transportLmtp ? {} : (clients.get(transportDefault) ?? {})
  const { cachesConnections = true, ...options }: SaidOfClient = { ...usual, ...own }
  const reused = { ...usual.connectionReuse, ...own.connectionReuse }
  const connectionReuse = cachesConnections ? reused : { ...reused, idleMs: 0 }
  return Object.keys(connectionReuse).length === 0 ? options : { ...options, connectionReuse }
}
