/** The options of `serve` for incoming mail: ports, trusted networks, limits of clients.
 * Invariant: everything is read from options, and refused, before a port is opened. What is read
 * from files stands in serve-tables.ts. */
import { availableParallelism } from 'node:os'
import process from 'node:process'
import { canSharePorts } from '../../../src/relay/listening.js'
import type { Place } from '../../../src/relay/smtp-in/session-server.js'
import type { SmtpFrontOptions } from '../../../src/relay/smtp-in/smtp-front.js'
import { trustedNetworks } from '../../../src/relay/smtp-in/client-networks.js'
import { UsageError, type Arguments } from '../cli/command.js'
import { parseBytes, parseCount, parseDurationOption, parseEndpoint, parseYes } from '../cli/values.js'

/** With a Received field above it, it is still what a queue takes. */
const sizeBytesMost = 2000 * 1024 * 1024

const idleTimeoutMsMost = 86_400_000
const greetDelayMsMost = 600_000

/** Those without TLS first: at least one, which `sendmail` needs. @throws UsageError */
export function placesOf(args: Arguments): Place[] {
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

/** @throws UsageError, WaybillError OPTION_INVALID */
export function serverOf(
  args: Arguments,
  { places, hostname, purpose }: Pick<SmtpFrontOptions, 'places' | 'purpose'> & { readonly hostname: string },
): SmtpFrontOptions & { readonly sizeBytesMax: number } {
  const trust = args.all('trust').flatMap((text) => text.split(',').map((part) => part.trim()))
  trustedNetworks(trust)
  const sizeBytesMax = parseBytes('size-limit', args.one('size-limit') ?? '50M')
  if (sizeBytesMax < 1 || sizeBytesMax > sizeBytesMost)
    throw new UsageError('--size-limit is from 1 to 2000M')
  const idleTimeoutMs = parseDurationOption('idle-timeout', args.one('idle-timeout') ?? '5m')
  // To smtp-server 0 is its own usual minute, and a timer of more than 24 days is one of none.
  if (idleTimeoutMs === 0 || idleTimeoutMs > idleTimeoutMsMost)
    throw new UsageError('--idle-timeout is longer than 0 and at most 1d')
  const greetDelayMs = parseDurationOption('greet-delay', args.one('greet-delay') ?? '100ms')
  if (greetDelayMs > greetDelayMsMost) throw new UsageError('--greet-delay is at most 10m')
  return {
    places,
    hostname,
    purpose,
    ...(trust.length === 0 ? undefined : { trust }),
    sizeBytesMax,
    sessionsMax: parseCount('sessions', args.one('sessions') ?? '500', 1),
    sessionsPerClientMax: parseCount('sessions-per-client', args.one('sessions-per-client') ?? '50', 1),
    idleTimeoutMs,
    greetDelayMs,
    dsn: parseYes('dsn', args.one('dsn') ?? 'yes'),
    received: parseYes('received', args.one('received') ?? 'yes'),
  }
}

/** Whether mail is taken on a separate thread. @throws UsageError */
export const hasThreadOf = (args: Arguments): boolean =>
  parseYes('smtp-thread', args.one('smtp-thread') ?? (availableParallelism() > 1 ? 'yes' : 'no'))
