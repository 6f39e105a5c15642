/** The URL of a queue in a store: `postgres://USER@HOST,HOST/DATABASE?queue=NAME`.
 * Invariant: what PostgreSQL's own clients understand goes to `pg` as it is; our own parameters
 * are taken out; what would change our connections is refused. No error and no log shows the
 * password. */
import { WaybillError } from '../errors.js'
import { safetyWays, type SafetyWay } from './replication-safety.js'

export interface StorePlace {
  /** Without password and parameters. */
  readonly name: string
  /** One for each host, for `pg`. */
  readonly urls: readonly string[]
  readonly queue: string | undefined
  readonly node: string | undefined
  readonly safety: SafetyWay
  readonly ttlMs: number
  readonly deadlineMs: number
  readonly resumeMs: number
}

const defaults = { ttlMs: 6000, deadlineMs: 5000, resumeMs: 60_000 }
/** Milliseconds. */
const bounds = { ttl: [300, 3_600_000], deadline: [50, 600_000], resume: [0, 86_400_000] } as const
/** Of a connection, beside ours: those that `pg` heeds, and those of libpq that it does not. */
const known: ReadonlySet<string> = new Set([
  'host',
  'port',
  'user',
  'password',
  'options',
  'ssl',
  'sslmode',
  'sslcert',
  'sslkey',
  'sslrootcert',
  'sslnegotiation',
  'uselibpqcompat',
  'connect_timeout',
  'target_session_attrs',
  'load_balance_hosts',
  'channel_binding',
  'gssencmode',
  'krbsrvname',
  'keepalives',
  'keepalives_idle',
  'keepalives_interval',
  'keepalives_count',
  'tcp_user_timeout',
  'fallback_application_name',
])
/** With these a commit would not be what it is taken for, or an owner would look dead:
 *    1. A URL has application_name=mta, and so have all connections of the owner.
 *    2. Another process looks for connections of the owner by their name, and finds none.
 *    3. It claims the queue of an owner that lives, and mail goes out twice. */
const fixed: ReadonlySet<string> = new Set([
  'application_name',
  'statement_timeout',
  'lock_timeout',
  'idle_in_transaction_session_timeout',
  'query_timeout',
  'client_encoding',
  'replication',
  'binary',
])
const namePattern = /^[a-z0-9][a-z0-9._-]{0,62}$/

const invalid = (reason: string, option = 'store'): WaybillError =>
  new WaybillError('OPTION_INVALID', reason, { option })

/** @throws WaybillError OPTION_INVALID */
export function storePlaceOf(url: string): StorePlace {
  const parts = /^(postgres(?:ql)?:\/\/)(?:([^@/?]*)@)?([^/?]*)(\/[^?]*)?(?:\?(.*))?$/.exec(url)
  if (parts === null) throw invalid('a store is postgres://USER@HOST/DATABASE?queue=NAME')
  const [, scheme = '', login, hosts = '', database = '', query = ''] = parts
  // Else a part of a password is a host or a database, and stands in a log.
  if (/[@#]/.test(hosts + database) || database.includes('/', 1) || login?.includes('#') === true)
    throw notEncoded()
  const parameters = new URLSearchParams(query)
  const take = (name: string): string | undefined => {
    const value = parameters.get(name) ?? undefined
    parameters.delete(name)
    return value
  }
  const ours = {
    queue: nameOf(take('queue'), 'queue'),
    node: nameOf(take('node'), 'node'),
    safety: safetyOf(take('safety')),
    ttlMs: durationOf('ttl', take('ttl')) ?? defaults.ttlMs,
    deadlineMs: durationOf('deadline', take('deadline')) ?? defaults.deadlineMs,
    resumeMs: durationOf('resume', take('resume')) ?? defaults.resumeMs,
  }
  checkRest(parameters)
  const rest = parameters.size === 0 ? '' : `?${parameters.toString()}`
  const user = login === undefined ? '' : `${login}@`
  return {
    name: `${scheme}${user.replace(/:.*@/, '@')}${hosts}${database}`,
    urls: hosts.split(',').map((host) => `${scheme}${user}${host}${database}${rest}`),
    ...ours,
  }
}

const notEncoded = (): WaybillError =>
  invalid("in names and passwords of a store's URL, '@', '/', '?' and '#' are %40, %2F, %3F and %23")

/** @throws WaybillError OPTION_INVALID */
function checkRest(parameters: URLSearchParams): void {
  for (const name of parameters.keys()) {
    if (name.includes('@')) throw notEncoded()
    if (fixed.has(name)) throw invalid(`the URL of a store does not set '${name}': Waybill does`)
    if (name === 'host' && parameters.get(name)?.includes(',') === true)
      throw invalid("servers of a store stand before the database, with commas, not in 'host'")
    if (!known.has(name)) throw invalid(`the URL of a store has no parameter '${name}'`)
  }
}

/** @throws WaybillError OPTION_INVALID */
export function nameOf(text: string | undefined, option: string): string | undefined {
  if (text !== undefined && !namePattern.test(text))
    throw invalid(
      `the name of a ${option} is 1 to 63 of a-z, 0-9, '.', '_' and '-', and begins with a letter or a digit, not '${text}'`,
      option,
    )
  return text
}

function safetyOf(text = 'required'): SafetyWay {
  const way = safetyWays.find((known) => known === text)
  if (way === undefined) throw invalid(`safety is ${safetyWays.join(' or ')}, not '${text}'`, 'safety')
  return way
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

function durationOf(option: keyof typeof bounds, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const [, count = '', unit = ''] = /^(\d{1,9})(ms|s|m|h)$/.exec(text) ?? []
  const [least, most] = bounds[option]
  const ms = Number(count) * (unitMs[unit] ?? NaN)
  if (!(ms >= least && ms <= most))
    throw invalid(`${option} is a time from ${least}ms to ${most}ms, such as 6s, not '${text}'`, option)
  return ms
}
