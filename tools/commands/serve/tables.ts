/** The files that `serve` is given, read at its start and again at each reload.
 * Invariant: nothing is made of any of them before all are right, and what a reload has taken up the next start takes, too: it is checked as
 * there. What stands on the command line itself is read once. */
import { statSync } from 'node:fs'
import type { Logger } from 'pino'
import type { ReloadedFile } from '../../../src/control/protocol.js'
import { countText } from '../../../src/base/count-text.js'
import { WaybillError } from '../../../src/errors.js'
import type { ClientTables } from '../../../src/relay/smtp-in/smtp-in.js'
import type { SmtpTransportOptions } from '../../../src/relay/smtp-out/smtp-out-options.js'
import { lineOf, UsageError, type Arguments } from '../cli/command.js'
import { transportUsual, type RouteTable } from './route-table.js'
import { schedulerParameters } from './scheduler-parameters.js'
import { routesOf, tlsPolicyOf } from './delivery.js'
import { dkimTableOf, type DkimTable } from './dkim.js'
import { aliasesOf, certificateOf, credentialsOf, expiryMsOf, relayDomainsOf, usersOf } from './secrets.js'
import type { TlsPolicyTable } from './tls-policy-table.js'

export interface Tables {
  readonly clients: ClientTables
  readonly routes: RouteTable
  readonly dkim: DkimTable
  readonly tlsPolicy: TlsPolicyTable
  /** For the relay. */
  readonly credentials: SmtpTransportOptions['auth']
}

/** @throws UsageError, WaybillError OPTION_INVALID */
export async function tablesOf(args: Arguments): Promise<Tables> {
  const tls = await certificateOf(args)
  const users = await usersOf(args)
  const relayDomains = await relayDomainsOf(args)
  const aliases = await aliasesOf(args)
  const routes = await routesOf(args)
  return {
    clients: {
      ...(tls === undefined ? undefined : { tls }),
      ...(users === undefined ? undefined : { users }),
      ...(relayDomains === undefined ? undefined : { relayDomains }),
      ...(aliases === undefined ? undefined : { aliases }),
      refused: routes.refused,
    },
    routes,
    dkim: await dkimTableOf(args),
    tlsPolicy: await tlsPolicyOf(args),
    credentials: await credentialsOf(args),
  }
}

export const transportNamesOf = ({ routes }: Tables): string[] => [
  transportUsual,
  ...routes.transports.keys(),
]

/** A queue has the transports that it was opened with. One more would have no limits of its own either: they are said by `-o`. */
async function tablesAgain(args: Arguments, names: readonly string[]): Promise<Tables> {
  const tables = await tablesOf(args)
  for (const [name, place] of tables.routes.transports)
    if (!names.includes(name))
      throw new WaybillError('OPTION_INVALID', `the transport ${name} is new: that takes a restart`, place)
  // 1. the last line of a transport goes, its `-o` stays  2. taken up  3. weeks later the relay does not start
  try {
    schedulerParameters(args.all('o'), transportNamesOf(tables))
  } catch (error) {
    throw new UsageError(`--routes ${args.one('routes')}: no line for a transport of -o: ${lineOf(error)}`)
  }
  return tables
}

/** One reload, and what the log says of it.
 * @param names of the transports that there are
 * @param takeUp of tables that are right; when it throws, all is as it was
 * @throws WaybillError OPTION_INVALID */
export async function reloaded(
  args: Arguments,
  names: readonly string[],
  log: Logger,
  takeUp: (tables: Tables) => Promise<void>,
): Promise<readonly ReloadedFile[]> {
  try {
    const tables = await tablesAgain(args, names)
    await takeUp(tables)
    return tellTables(args, tables, log, 'reloaded')
  } catch (error) {
    const told = error instanceof UsageError ? new WaybillError('OPTION_INVALID', error.message) : error
    log.error({ err: told }, 'not reloaded, all is as it was')
    throw told
  }
}

/** What was read, and what of it is right and will not do. */
export function tellTables(
  args: Arguments,
  tables: Tables,
  log: Logger,
  message: 'read' | 'reloaded',
): readonly ReloadedFile[] {
  const files = filesOf(args, tables)
  if (files.length > 0 || message === 'reloaded') log.info({ files }, message)
  const { tls } = tables.clients
  if (tls !== undefined && expiryMsOf(tls) <= Date.now())
    log.warn({ expiredAt: dateOf(expiryMsOf(tls)) }, 'the certificate has expired')
  for (const key of tables.dkim.weak) log.warn(key, 'an RSA key under 2048 bits is no key to some receivers')
  const secrets = [
    ...['tls-key', 'auth', 'relay-auth', 'webhook-secret'].flatMap((option) => args.one(option) ?? []),
    ...tables.dkim.keyFiles,
  ]
  for (const path of new Set(secrets))
    if (isForEveryone(path))
      log.warn({ path }, 'every user of this machine may read this secret: chmod o-rwx')
  return files
}

const othersMay = 0o007

/** A file that is gone by now is nobody's concern. */
const isForEveryone = (path: string): boolean =>
  ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & othersMay) !== 0

function filesOf(args: Arguments, { clients, routes, dkim, tlsPolicy }: Tables): ReloadedFile[] {
  const { tls, users, relayDomains, aliases } = clients
  const holds: Readonly<Record<string, string>> = {
    config: 'options, as they were at the start',
    'tls-cert': tls === undefined ? '' : `valid until ${dateOf(expiryMsOf(tls))}`,
    'tls-key': 'its key',
    auth: countText(users?.size ?? 0, 'user'),
    'relay-domains': countText(relayDomains?.lines.size ?? 0, 'domain or address', 'domains and addresses'),
    aliases: countText(aliases?.lines.size ?? 0, 'alias', 'aliases'),
    routes: countText(routes.lineCount, 'route'),
    dkim: countText(dkim.keys?.length ?? 0, 'key'),
    'tls-policy': countText(tlsPolicy.lines.length, 'destination'),
    'relay-auth': 'a password',
  }
  return Object.entries(holds).flatMap(([option, text]) => {
    const path = args.one(option)
    return path === undefined ? [] : [{ option, path, holds: text }]
  })
}

const dateOf = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z')
