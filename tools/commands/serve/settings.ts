/** The settings of a relay: what its options say, apart from files and parameters (tables.ts).
 * Invariant: every option is read, and refused, before anything is made or a port is opened. */
import { availableParallelism, hostname as machineName } from 'node:os'
import process from 'node:process'
import { waitMsMax } from '../../../src/base/options.js'
import { isReportingMta } from '../../../src/bounce/report.js'
import { canSharePorts } from '../../../src/relay/listening.js'
import type { Place } from '../../../src/relay/smtp-in/session-server.js'
import type { SmtpFrontOptions } from '../../../src/relay/smtp-in/smtp-front.js'
import { networkList } from '../../../src/relay/smtp-in/client-networks.js'
import { UsageError, type Arguments } from '../cli/command.js'
import { historyOf } from './history-options.js'
import { mailqUsersOf } from './mailq-ports.js'
import {
  parseBytes,
  parseCount,
  parseDurationOption,
  parseEndpoint,
  parseWord,
  parseYes,
  type Endpoint,
} from '../cli/values.js'
import { checkWays, maildirDefault } from './delivery.js'
import { httpPlacesOf } from './http.js'
import { atAddresses, checkDirectory, withAddresses } from './places.js'
import { queueHomeOf, type QueueHome } from './queue-home.js'
import { stopTimeoutMsOf } from './stopping.js'

export const formats = ['auto', 'json', 'text'] as const
export const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

/** Where mail goes, and where the relay answers. */
export interface Ways {
  readonly home: QueueHome
  readonly places: readonly Place[]
  readonly hostname: string
  readonly relay: Endpoint | undefined
  readonly direct: boolean
  readonly metrics: readonly Endpoint[]
  readonly mailq: readonly Endpoint[]
  readonly http: readonly Endpoint[]
  readonly console: readonly Endpoint[]
}

export interface Settings extends Ways {
  readonly server: ReturnType<typeof serverOf>
  /** Mail is taken on a separate thread. */
  readonly hasThread: boolean
  /** Nothing is delivered. */
  readonly isFrozen: boolean
  readonly proofMs: number
  readonly lockWaitMs: number
  readonly stopTimeoutMs: number
  /** Users of this machine that may list the queue. */
  readonly listsFor: ReturnType<typeof mailqUsersOf>
  readonly history: ReturnType<typeof historyOf>
  readonly level: (typeof levels)[number]
  /** The log is for people. */
  readonly isText: boolean
}

/** @param ways which were read first, with the tables @throws UsageError, WaybillError
 * OPTION_INVALID */
export function settingsOf(args: Arguments, ways: Ways): Settings {
  const { home, relay, direct } = ways
  const format = parseWord('log-format', args.one('log-format') ?? 'auto', formats)
  return {
    ...ways,
    server: serverOf(args, { ...ways, purpose: relay === undefined && !direct ? 'local' : 'relay' }),
    hasThread: hasThreadOf(args),
    isFrozen: args.isSet('freeze'),
    proofMs: proofMsOf(args),
    lockWaitMs: lockWaitMsOf(args),
    stopTimeoutMs: stopTimeoutMsOf(args),
    listsFor: mailqUsersOf(args),
    history: historyOf(args, home.directory === undefined),
    level: parseWord('log-level', args.one('log-level') ?? 'info', levels),
    isText: format === 'text' || (format === 'auto' && process.stderr.isTTY),
  }
}

/** @throws UsageError, WaybillError OPTION_INVALID */
export async function waysOf(args: Arguments): Promise<Ways> {
  checkWays(args)
  const addressesOf = async (option: 'metrics' | 'mailq'): Promise<readonly Endpoint[]> => {
    const text = args.one(option)
    return text === undefined ? [] : atAddresses(option, parseEndpoint(option, text, '127.0.0.1'))
  }
  const relayText = args.one('relay')
  const relayPort = args.one('relay-tls') === 'implicit' ? 465 : 25
  const ways: Ways = {
    home: await queueHomeOf(args),
    places: await withAddresses(placesOf(args)),
    hostname: args.one('hostname') ?? machineName(),
    relay: relayText === undefined ? undefined : parseEndpoint('relay', relayText, '127.0.0.1', relayPort),
    direct: args.isSet('direct'),
    metrics: await addressesOf('metrics'),
    mailq: await addressesOf('mailq'),
    http: await httpPlacesOf(args),
    console: await httpPlacesOf(args, 'console'),
  }
  if (ways.relay?.port === 0) throw new UsageError('--relay needs a port other than 0')
  if (!isReportingMta(ways.hostname))
    throw new UsageError(`--hostname takes a host name or an address literal, not '${ways.hostname}'`)
  const { home, relay, direct } = ways
  if (home.directory !== undefined) await checkDirectory('queue', home.directory)
  if (args.isSet('maildir') || (relay === undefined && !direct))
    await checkDirectory('maildir', args.one('maildir') ?? maildirDefault)
  return ways
}

/** @throws UsageError */
function proofMsOf(args: Arguments): number {
  const proofMs = parseDurationOption('proof', args.one('proof') ?? '2s')
  if (proofMs < 1 || proofMs > waitMsMax) throw new UsageError('--proof is from 1ms to 1d')
  return proofMs
}

/** @throws UsageError */
function lockWaitMsOf(args: Arguments): number {
  const lockWaitMs = parseDurationOption('lock-wait', args.one('lock-wait') ?? '0s')
  if (lockWaitMs > waitMsMax) throw new UsageError('--lock-wait is at most 1d')
  return lockWaitMs
}

/** With a Received field above it, it is still what a queue takes. */
const sizeLimitBytesMax = 2000 * 1024 * 1024

const idleTimeoutMsMax = 86_400_000
const greetDelayMsMax = 600_000

/** Those without TLS first: at least one, which `sendmail` needs. @throws UsageError */
function placesOf(args: Arguments): Place[] {
  const listen = args.all('listen').map((text) => parseEndpoint('listen', text, '127.0.0.1', 2525))
  const listenTls = args.all('listen-tls').map((text) => parseEndpoint('listen-tls', text, '127.0.0.1', 465))
  if (listenTls.length > 0 && !args.isSet('tls-cert'))
    throw new UsageError('--listen-tls needs --tls-cert and --tls-key')
  const sharesPort = parseYes('share-port', args.one('share-port') ?? 'no')
  if (sharesPort && !canSharePorts())
    throw new UsageError(`--share-port needs Node 23.1 or later, and this is ${process.version}`)
  return [
    ...(listen.length === 0 ? [{ host: '127.0.0.1', port: 2525 }] : listen),
    ...listenTls.map((place) => ({ ...place, implicitTls: true })),
  ].map((place) => ({ ...place, sharesPort }))
}

/** @throws WaybillError OPTION_INVALID */
function networksOf(args: Arguments, option: 'trust' | 'proxy-protocol'): string[] {
  const networks = args.all(option).flatMap((text) => text.split(',').map((part) => part.trim()))
  networkList(networks, option)
  return networks
}

/** @throws UsageError, WaybillError OPTION_INVALID */
function serverOf(
  args: Arguments,
  { places, hostname, purpose }: Pick<SmtpFrontOptions, 'places' | 'purpose'> & { readonly hostname: string },
): SmtpFrontOptions & { readonly sizeBytesMax: number; readonly sessionsMax: number } {
  const trust = networksOf(args, 'trust')
  const proxyProtocol = networksOf(args, 'proxy-protocol')
  const sizeBytesMax = parseBytes('size-limit', args.one('size-limit') ?? '50M')
  if (sizeBytesMax < 1 || sizeBytesMax > sizeLimitBytesMax)
    throw new UsageError('--size-limit is from 1 to 2000M')
  const idleTimeoutMs = parseDurationOption('idle-timeout', args.one('idle-timeout') ?? '5m')
  // To smtp-server 0 is its own usual minute, and a timer of more than 24 days is one of none.
  if (idleTimeoutMs === 0 || idleTimeoutMs > idleTimeoutMsMax)
    throw new UsageError('--idle-timeout is longer than 0 and at most 1d')
  const greetDelayMs = parseDurationOption('greet-delay', args.one('greet-delay') ?? '100ms')
  if (greetDelayMs > greetDelayMsMax) throw new UsageError('--greet-delay is at most 10m')
  return {
    places,
    hostname,
    purpose,
    ...(trust.length === 0 ? undefined : { trust }),
    proxyProtocol,
    sizeBytesMax,
    sessionsMax: parseCount('sessions', args.one('sessions') ?? '500', 1),
    sessionsPerClientMax: parseCount('sessions-per-client', args.one('sessions-per-client') ?? '50', 1),
    idleTimeoutMs,
    greetDelayMs,
    dsn: parseYes('dsn', args.one('dsn') ?? 'yes'),
    received: parseYes('received', args.one('received') ?? 'yes'),
  }
}

/** @throws UsageError */
const hasThreadOf = (args: Arguments): boolean =>
  parseYes('smtp-thread', args.one('smtp-thread') ?? (availableParallelism() > 1 ? 'yes' : 'no'))
