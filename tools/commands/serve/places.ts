/** The addresses and directories that `serve` is given: tried before anything is made, and shown
 * when they answer.
 * Invariant: a trial leaves nothing behind, and its error names the option. A host that is a name
 * is all of its addresses, as for Postfix and nginx. Between the trial of a port and its use
 * another process may take it: then the queue is there already, and the system's error is shown. */
import { lookup } from 'node:dns/promises'
import { stat } from 'node:fs/promises'
import { createServer, isIP, isIPv6, type Server } from 'node:net'
import { networkInterfaces } from 'node:os'
import { resolve } from 'node:path'
import type { Logger } from 'pino'
import { isError } from '../../../src/base/realms.js'
import { madeDirectory } from '../../../src/disk/names.js'
import { listening, type HowToListen } from '../../../src/relay/listening.js'
import type { Place } from '../../../src/relay/smtp-in/session-server.js'
import { lineOf, UsageError } from '../cli/command.js'
import { answerForRelay } from '../cli/relay-socket.js'
import { formatEndpoint, type Endpoint } from '../cli/values.js'
import type { QueueHome } from './queue-home.js'

const reasons: Readonly<Record<string, string>> = {
  // Of `192.0.2.1:25` and `[::]:25` the system refuses the second.
  EADDRINUSE: 'another process listens there, or this relay does by an earlier option ([::] includes IPv4)',
  EADDRNOTAVAIL: 'this machine does not have that address',
  EACCES: 'this user may not; ports below 1024 need CAP_NET_BIND_SERVICE',
  ENOTFOUND: 'no such host',
}

/** @throws UsageError when something else than a directory is there */
export async function checkDirectory(option: string, path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined)
  if (found !== undefined && !found.isDirectory())
    throw new UsageError(`--${option}: ${path} is no directory`)
}

/** Makes the directory of mailboxes, as the first delivery would.
 * @throws Error with option, place and reason, where each delivery would fail */
export async function madeMailboxDirectory(path: string): Promise<void> {
  const directory = resolve(path)
  try {
    await madeDirectory(directory)
    // What is below it can be reached.
    await stat(`${directory}/.`)
  } catch (error) {
    throw new Error(`--maildir ${path}: ${lineOf(error)}`, { cause: error })
  }
}

type AddressesOf = (name: string) => Promise<readonly string[]>

/** @param addressesOf asks the system
 * @returns them with addresses for names, in their order @throws Error with the option, the place,
 * and the system's code */
export async function withAddresses(
  places: readonly Place[],
  addressesOf: AddressesOf = addressesHere,
): Promise<Place[]> {
  const all: Place[] = []
  for (const place of places) all.push(...(await atAddresses(optionOf(place), place, addressesOf)))
  return all.map((place) => (leavesIpv4(place, all) ? { ...place, isIpv6Alone: true } : place))
}

/** All addresses of IPv6 where all of IPv4 are named, too: the system would refuse the second. */
function leavesIpv4({ host, port }: Place, all: readonly Place[]): boolean {
  const isEvery6 = isIPv6(host) && new URL(`http://[${host.replace(/%.*$/, '')}]`).hostname === '[::]'
  return isEvery6 && port !== 0 && all.some((other) => other.host === '0.0.0.0' && other.port === port)
}

/** A place at each address of its host, as `withAddresses`. */
export async function atAddresses<T extends Endpoint>(
  option: string,
  place: T,
  addressesOf: AddressesOf = addressesHere,
): Promise<T[]> {
  if (isIP(place.host) !== 0) return [place]
  const addresses = await addressesOf(place.host).catch((error: unknown) => {
    throw refusalOf(option, place, error)
  })
  return Array.from(new Set(addresses), (host) => ({ ...place, host }))
}

/** Those of a kind that this machine has: in containers `localhost` is often ::1, too, and
 * there is no IPv6. */
async function addressesHere(name: string): Promise<readonly string[]> {
  const kinds = new Set(Object.values(networkInterfaces()).flatMap((own) => own?.map(({ family }) => family)))
  const found = await lookup(name, { all: true })
  const here = found.filter(({ family }) => kinds.has(`IPv${family}` as 'IPv4' | 'IPv6'))
  return (here.length === 0 ? found : here).map(({ address }) => address)
}

/** The option that named it. */
export const optionOf = ({ implicitTls }: Place): string => (implicitTls === true ? 'listen-tls' : 'listen')

/** All at once, so that two that are the same are found. @param ports each with the option that
 * names it
 * @throws Error with the option, the place, and the system's code */
export async function tryPorts(
  ports: readonly { readonly option: string; readonly endpoint: Endpoint & HowToListen }[],
): Promise<void> {
  const servers: Server[] = []
  try {
    for (const { option, endpoint } of ports) {
      const server = createServer((socket) => socket.destroy())
      const { host, port, isIpv6Alone = false } = endpoint
      await listening(server, host, port, { isIpv6Alone }).catch((error: unknown) => {
        throw refusalOf(option, endpoint, error)
      })
      servers.push(server)
    }
  } finally {
    await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  }
}

function refusalOf(option: string, endpoint: Endpoint, cause: unknown): Error {
  const place = endpoint.port === 0 ? endpoint.host : formatEndpoint(endpoint)
  return new Error(`--${option} ${place}: ${reasonOf(cause)}`, { cause })
}

function reasonOf(error: unknown): string {
  const code = isError(error) && 'code' in error ? String(error.code) : ''
  const reason = reasons[code]
  return reason === undefined ? lineOf(error) : `${code}: ${reason}`
}

/** Answers for `sendmail`, and tells the log and who has started it where it answers.
 * @param places that were asked for, in the order of the ports
 * @returns stops answering for `sendmail` */
export async function tellPlaces(
  { directory, shown: queue }: Pick<QueueHome, 'directory' | 'shown'>,
  places: readonly Place[],
  ports: readonly Endpoint[],
  isBalancer: (address: string) => boolean,
  log: Logger,
): Promise<() => void> {
  const stop =
    directory === undefined ? nothing : await answerForSendmail(directory, ports[0]!, isBalancer, log)
  for (const [index, port] of ports.entries()) {
    const endpoint = formatEndpoint(port)
    const tls = places[index]?.implicitTls === true
    log.info({ queue, listen: endpoint, ...(tls ? { tls } : undefined) }, 'listening')
    process.stdout.write(`listening on ${endpoint}${tls ? ' with TLS' : ''}\n`)
  }
  return stop
}

const nothing = (): void => undefined

/** Without it mail by SMTP is delivered as ever: a file system that has no sockets is no
 * reason to stop. */
const answerForSendmail = (
  directory: string,
  port: Endpoint,
  isBalancer: (address: string) => boolean,
  log: Logger,
): Promise<() => void> =>
  answerForRelay(directory, reachable(port), isBalancer).catch((error: unknown) => {
    log.warn({ err: error }, 'sendmail reaches this relay only by --smtp')
    return nothing
  })

/** An address that a client on this machine can connect to. */
const reachable = ({ host, port }: Endpoint): Endpoint => ({
  host: host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host,
  port,
})
