/** All files of `serve` together, read at the start and again at each reload.
 * Invariant: no file applies before all are right. A reload makes the checks of a start, so the
 * next start accepts every file that a reload has accepted. Of the options in the file of --config
 * a reload applies only parameters (-o). */
import { statSync } from 'node:fs'
import type { Logger } from 'pino'
import type { ReloadedFile } from '../../../src/control/protocol.js'
import { countText } from '../../../src/base/text.js'
import { WaybillError } from '../../../src/errors.js'
import type { ReplyShaping, SendingLimit, ZmailerPolicy } from '../../../src/index.js'
import type { ClientTables } from '../../../src/relay/smtp-in/smtp-in.js'
import { limitsIn, shapingIn, shapingDefault } from '../../../src/relay/tables/limit-table.js'
import type { SmtpTransportOptions } from '../../../src/relay/smtp-out/smtp-out-options.js'
import { withProcessLimits } from '../../../src/engine/deliver/scheduler-options.js'
import { flagOf, UsageError, type Arguments } from '../cli/command.js'
import { dateOf } from '../log/certificate-watch.js'
import type { ConfiguredArguments } from './config.js'
import type { RouteTable } from '../tables/route-table.js'
import { changedFixed, parametersNow } from '../parameters/fixed-parameters.js'
import { queueParameters, type QueueParameters } from '../parameters/scheduler-parameters.js'
import { schedulerConfOf, schedulerConfOption } from '../policy/scheduler-conf.js'
import { transportNamesOf } from './transports.js'
import { routesOf, tlsPolicyOf } from './delivery.js'
import { dkimTableOf, type DkimTable } from './dkim.js'
import { httpTablesOf, type HttpTables } from './http.js'
import {
  aliasesOf,
  certificateOf,
  credentialsOf,
  expiryMsOf,
  fileTextOf,
  relayDomainsOf,
  sendersOf,
  usersOf,
} from '../tables/relay-files.js'
import type { TlsPolicyTable } from '../tables/tls-policy-table.js'
import { webhookOf, type Asked } from './webhook.js'

export interface Tables {
  readonly clients: ClientTables
  readonly routes: RouteTable
  readonly dkim: DkimTable
  readonly tlsPolicy: TlsPolicyTable
  /** For the relay. */
  readonly credentials: SmtpTransportOptions['auth']
  readonly http: HttpTables
  /** What may be sent in a time, and which replies slow a site. */
  readonly limits: readonly SendingLimit[]
  readonly shaping: readonly ReplyShaping[]
  /** What clauses say of retries and limits. */
  readonly policy: ZmailerPolicy | undefined
  /** Its secrets may change. */
  readonly webhook: Asked | undefined
}

/** @throws UsageError, WaybillError OPTION_INVALID */
export async function tablesOf(args: Arguments): Promise<Tables> {
  const tls = await certificateOf(args)
  const users = await usersOf(args)
  const relayDomains = await relayDomainsOf(args)
  const aliases = await aliasesOf(args)
  const senders = await sendersOf(args)
  const routes = await routesOf(args)
  return {
    clients: {
      ...(tls === undefined ? undefined : { tls }),
      ...(users === undefined ? undefined : { users }),
      ...(relayDomains === undefined ? undefined : { relayDomains }),
      ...(aliases === undefined ? undefined : { aliases }),
      ...(senders === undefined ? undefined : { senders }),
      refused: routes.refused,
    },
    routes,
    dkim: await dkimTableOf(args),
    tlsPolicy: await tlsPolicyOf(args),
    credentials: await credentialsOf(args),
    http: await httpTablesOf(args, tls),
    policy: await schedulerConfOf(args),
    limits: await limitsOf(args),
    shaping: await shapingOf(args),
    webhook: await webhookOf(args),
  }
}

async function limitsOf(args: Arguments): Promise<readonly SendingLimit[]> {
  const path = args.one('limits')
  return path === undefined
    ? []
    : limitsIn(await fileTextOf('limits', path), path, args.isSet('source-address'))
}

/** Common replies, or those of a file. */
async function shapingOf(args: Arguments): Promise<readonly ReplyShaping[]> {
  const path = args.one('shaping')
  if (path === undefined) return shapingIn(shapingDefault, '')
  return shapingIn(await fileTextOf('shaping', path), path)
}

/** What files and parameters say, together. */
export interface Said {
  readonly tables: Tables
  readonly names: readonly string[]
  readonly parameters: QueueParameters
}

/** @param ways where mail may go @throws UsageError, WaybillError OPTION_INVALID */
export async function saidBy(args: Arguments, ways: Parameters<typeof transportNamesOf>[1]): Promise<Said> {
  const tables = await tablesOf(args)
  const names = transportNamesOf(args, ways, tables)
  const parameters = queueParameters(args.all('o'), names)
  const scheduler = withProcessLimits(parameters.scheduler, tables.policy ?? {}, names)
  return { tables, names, parameters: { ...parameters, scheduler } }
}

export interface Reloading {
  /** As the relay was started. */
  readonly args: Arguments
  readonly ways: Parameters<typeof transportNamesOf>[1]
  /** Reads the file of `--config` again. */
  readonly readAgain: () => Promise<ConfiguredArguments>
  /** Takes up what is right; when it throws, all is as it was. */
  readonly takeUp: (said: Said) => Promise<void>
}

/** One reload, and what the log says of it.
 * @throws WaybillError OPTION_INVALID */
export async function reloaded(
  { args, ways, readAgain, takeUp }: Reloading,
  log: Logger,
): Promise<readonly ReloadedFile[]> {
  let placed = (error: unknown): unknown => error
  try {
    const next = await readAgain()
    placed = next.placed
    const now = withParameters(args, parametersNow(args.all('o'), next.all('o')))
    const said = await saidBy(now, ways)
    await takeUp(said)
    const restart = changedForRestart(args, next)
    if (restart.length > 0) log.warn({ options: restart }, 'these have changed, and take a restart')
    return tellTables(now, said.tables, log, 'reloaded')
  } catch (thrown) {
    const error = placed(thrown)
    const told = error instanceof UsageError ? new WaybillError('OPTION_INVALID', error.message) : error
    log.error({ err: told }, 'not reloaded, all is as it was')
    throw told
  }
}

/** All else is as it was. */
const withParameters = (args: Arguments, texts: readonly string[]): Arguments => ({
  one: (name) => (name === 'o' ? texts.at(-1) : args.one(name)),
  all: (name) => (name === 'o' ? texts : args.all(name)),
  isSet: (name) => (name === 'o' ? texts.length > 0 : args.isSet(name)),
  names: args.names,
  rest: args.rest,
})

/** Names of options and of parameters, as they were given. */
function changedForRestart(args: Arguments, next: Arguments): string[] {
  const options = args.names.filter((name) => name !== 'o' && !isSame(args.all(name), next.all(name)))
  return [...options.map(flagOf), ...changedFixed(args.all('o'), next.all('o'))]
}

const isSame = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((value, i) => value === b[i])

/** What was read, and what of it is right and will not do. */
export function tellTables(
  args: Arguments,
  tables: Tables,
  log: Logger,
  message: 'read' | 'reloaded',
): readonly ReloadedFile[] {
  const files = filesOf(args, tables)
  if (files.length > 0 || message === 'reloaded') log.info({ files }, message)
  for (const key of tables.dkim.weak) log.warn(key, 'an RSA key under 2048 bits is no key to some receivers')
  const secrets = [
    ...['tls-key', 'auth', 'relay-auth', 'webhook-secret', 'http-tokens', 'http-tls-key'].flatMap(
      (option) => args.one(option) ?? [],
    ),
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

function filesOf(args: Arguments, tables: Tables): ReloadedFile[] {
  const { clients, routes, dkim, tlsPolicy, http, policy, limits, shaping, webhook } = tables
  const { tls, users, relayDomains, aliases, senders } = clients
  const holds: Readonly<Record<string, string>> = {
    config: `${countText(args.all('o').length, 'parameter')}; other options, as they were at the start`,
    'tls-cert': tls === undefined ? '' : `valid until ${dateOf(expiryMsOf(tls))}`,
    'tls-key': 'its key',
    auth: countText(users?.size ?? 0, 'user'),
    'relay-domains': countText(relayDomains?.lines.size ?? 0, 'domain or address', 'domains and addresses'),
    aliases: countText(aliases?.lines.size ?? 0, 'alias', 'aliases'),
    senders: countText(senders?.lines.size ?? 0, 'sender'),
    routes: countText(routes.lineCount, 'route'),
    dkim: countText(dkim.keys?.length ?? 0, 'key'),
    'tls-policy': countText(tlsPolicy.lines.length, 'destination'),
    limits: countText(limits.length, 'limit'),
    shaping: countText(shaping.length, 'reply', 'replies'),
    'relay-auth': 'a password',
    'webhook-secret': countText(webhook?.secret.length ?? 0, 'secret'),
    [schedulerConfOption]: countText(policy?.clauses.length ?? 0, 'clause'),
    'http-tokens': countText(http.tokens?.size ?? 0, 'token'),
    'http-tls-cert': http.tls === undefined ? '' : `valid until ${dateOf(expiryMsOf(http.tls))}`,
    'http-tls-key': 'its key',
  }
  return Object.entries(holds).flatMap(([option, text]) => {
    const path = args.one(option)
    return path === undefined ? [] : [{ option, path, holds: text }]
  })
}
