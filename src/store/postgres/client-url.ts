/** The URL that `pg` gets for a host: that of the operator, our settings, and certificates.
 * Invariant: our settings come last, so that a server takes them. In `pg` a parameter of the URL
 * wins over an option, so all of it stands there. */
import process from 'node:process'

/** Found on connections that have our settings. Poolers drop or share those:
 *    1. pgbouncer gives each statement to any connection, of its pool of `transaction`.
 *    2. A node claims the queue on a connection to the primary.
 *    3. The next statement goes to a standby, which lags. Recovery takes the journal that it finds
 *       there for the whole, and begins to append before its end. */
export const directSetting = 'waybill.direct'

/** Whatever the server, the database or the role has set: a commit waits, and the connection
 * of a dead machine ends. */
const settings = [
  'default_transaction_isolation=read\\ committed',
  'default_transaction_read_only=off',
  'synchronous_commit=on',
  'statement_timeout=0',
  'lock_timeout=0',
  'idle_session_timeout=0',
  'idle_in_transaction_session_timeout=0',
  'client_min_messages=warning',
  'client_connection_check_interval=2000',
  'tcp_keepalives_idle=5',
  'tcp_user_timeout=10000',
  'waybill.direct=yes',
]
  .map((setting) => `-c ${setting}`)
  .join(' ')

/** The same, for a limit that PostgreSQL has from 17 on: an earlier one refuses a connection whose
 * options name it. A look at all files, or a wait for a lock, may take longer. */
export const untimed =
  "(SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'transaction_timeout')"

/** What libpq reads these from, and `pg` does not. */
const certificateVariables = {
  sslcert: 'PGSSLCERT',
  sslkey: 'PGSSLKEY',
  sslrootcert: 'PGSSLROOTCERT',
} as const

/** For all but the first two `pg` checks certificates in full. It warns of the last four, for which
 * its next major version will check less. */
const modes = ['disable', 'no-verify', 'verify-full', 'verify-ca', 'require', 'prefer', 'allow']
const fullModes: ReadonlySet<string> = new Set(modes.slice(2))

/** What libpq keeps to and `pg` does not: a connection would be less than was demanded. */
const demands = { channel_binding: 'PGCHANNELBINDING', gssencmode: 'PGGSSENCMODE' } as const

/** @throws Error when it demands what `pg` does not do */
export function clientUrl(url: string): string {
  const [base = '', query = ''] = url.split('?')
  const parameters = new URLSearchParams(query)
  const theirs = parameters.get('options') ?? ''
  parameters.set('options', `${theirs} ${settings}`.trim())
  checkDemands(parameters)
  if (isSocket(base, parameters)) setPlain(parameters)
  else setSecure(parameters)
  // `pg` would encode the whole once more for a blank that is a `+`.
  return `${base}?${parameters.toString().replaceAll('+', '%20')}`
}

function checkDemands(parameters: URLSearchParams): void {
  for (const [name, variable] of Object.entries(demands))
    if ((parameters.get(name) ?? process.env[variable]) === 'require')
      throw new Error(`the package pg does not do ${name}=require: remove it, and use sslmode=verify-full`)
}

/** Is its host the directory of a socket? */
const isSocket = (base: string, parameters: URLSearchParams): boolean =>
  /^[^/]*\/\/(?:[^@/]*@)?%2F/i.test(base) || parameters.get('host')?.startsWith('/') === true

/** As for libpq: TLS is between machines, and a server speaks none on its socket. */
function setPlain(parameters: URLSearchParams): void {
  for (const name of ['ssl', 'sslnegotiation', ...Object.keys(certificateVariables)]) parameters.delete(name)
  parameters.set('sslmode', 'disable')
}

/** @param ssl a parameter of `pg`, not of libpq: with it `pg` does not look at PGSSLMODE */
function modeOf(ssl: string | null): string | undefined {
  if (ssl === null) return process.env['PGSSLMODE']
  return ssl === 'true' || ssl === '1' ? 'verify-full' : undefined
}

/** @throws Error for an unknown mode: in PGSSLMODE `pg` takes it for none, and mail crosses the
 * network in plain text */
function setSecure(parameters: URLSearchParams): void {
  const given = parameters.get('sslmode') ?? modeOf(parameters.get('ssl')) ?? ''
  if (given !== '' && !modes.includes(given))
    throw new Error(`sslmode, or PGSSLMODE, is one of ${modes.join(', ')}, not '${given}'`)
  const isFull = parameters.get('uselibpqcompat') !== 'true' && fullModes.has(given)
  const mode = isFull ? 'verify-full' : given || 'disable'
  if (isFull) parameters.set('sslmode', mode)
  for (const [name, variable] of Object.entries(certificateVariables)) {
    const path = process.env[variable]
    if (mode === 'disable' || path === undefined || parameters.has(name)) continue
    parameters.set(name, path)
    parameters.set('sslmode', mode)
  }
  // As for libpq: those of the system, which are the default of Node.
  if (parameters.get('sslrootcert') === 'system') parameters.delete('sslrootcert')
}
