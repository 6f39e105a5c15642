/** `waybill serve --http`: the API at every address of one place.
 * Invariant: tokens never cross a network in plaintext: without TLS it answers on this machine
 * alone. Without --http it is not even loaded. */
import { readFile, stat, writeFile } from 'node:fs/promises'
import { BlockList, isIP } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Queue } from '../../../src/index.js'
import type { HttpApi } from '../../../src/http/http-api.js'
import type { Conversation } from '../../../src/delivery/conversation.js'
import type { SubmitDoor } from '../../../src/http/api/route.js'
import type { HttpListener } from '../../../src/http/http-server.js'
import type { QueuePlace } from '../../../src/http/figures/queues.js'
import type { Problem, RelayFacts } from '../../../src/http/figures/problems.js'
import type { HttpPage } from '../../../src/http/wire/pages.js'
import { newToken, soleToken, tokensIn, type Tokens } from '../../../src/http/wire/tokens.js'
import type { Certificate } from '../../../src/relay/smtp-in/session-server.js'
import { UsageError, type Arguments } from '../cli/command.js'
import { formatEndpoint, parseEndpoint, type Endpoint } from '../cli/values.js'
import { versionText } from '../cli/version.js'
import { atAddresses } from './places.js'
import type { LastReload } from './reload.js'
import type { Validity } from '../log/certificate-watch.js'
import { certificateIn, fileTextOf, validityOf } from '../tables/relay-files.js'

/** What files say, read again at a reload. */
export interface HttpTables {
  /** undefined: the token of the queue's owner alone. */
  readonly tokens: Tokens | undefined
  /** Its own certificate, or that of the relay. */
  readonly tls: Certificate | undefined
  /** Its own: then it is used on this machine, too. */
  readonly isOwn: boolean
}

/** In the queue's directory. */
const ownTokenName = 'http-token'
const rateFileName = 'http-rates'
/** For the answers at the end. */
const lastAnswersMs = 2000
/** Nobody guesses one that is longer. */
const tokenLengthMin = 20

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

const isHere = ({ host }: Endpoint): boolean => loopback.check(host, isIP(host) === 6 ? 'ipv6' : 'ipv4')

/** Each address of `--http`; none without it. @throws UsageError */
export async function httpPlacesOf(args: Arguments, option: string = 'http'): Promise<readonly Endpoint[]> {
  const text = args.one(option)
  if (text === undefined) return []
  const places = await atAddresses(option, parseEndpoint(option, text, '127.0.0.1'))
  if (places.every(isHere)) return places
  if (!args.isSet('http-tls-cert') && !args.isSet('tls-cert'))
    throw new UsageError(
      `--${option} ${text} is reached from other machines: it wants --http-tls-cert and --http-tls-key, or --tls-cert and --tls-key`,
    )
  if (!args.isSet('http-tokens'))
    throw new UsageError(`--${option} ${text} is reached from other machines: it wants --http-tokens`)
  return places
}

/** @param tls of the relay @throws UsageError, WaybillError OPTION_INVALID */
export async function httpTablesOf(args: Arguments, tls: Certificate | undefined): Promise<HttpTables> {
  const path = args.one('http-tokens')
  const own = await certificateIn(args, 'http-tls-cert', 'http-tls-key')
  return {
    tokens: path === undefined ? undefined : tokensIn(await fileTextOf('http-tokens', path), path),
    tls: own ?? tls,
    isOwn: own !== undefined,
  }
}

/** What an operator should know beside the queue. */
export function factsOf(
  { clients, http }: Certificates,
  lastReload: LastReload,
  more: Pick<RelayFacts, 'isFrozen' | 'webhookTrouble' | 'webhookWaitingCount'>,
): RelayFacts {
  const certificateExpiresAt = firstExpiryOf({ clients, http })
  return {
    ...more,
    isReloadRefused: !lastReload.isSuccessful,
    ...(certificateExpiresAt === undefined ? undefined : { certificateExpiresAt }),
  }
}

/** Of the certificates that clients are shown, milliseconds since 1970. */
export function firstExpiryOf(certificates: Certificates): number | undefined {
  const expiries = [...validitiesOf(certificates).values()].map(({ untilMs }) => untilMs)
  return expiries.length === 0 ? undefined : Math.min(...expiries)
}

/** When they are valid, by the option that names each one's file. */
export function validitiesOf({ clients: { tls }, http }: Certificates): Map<string, Validity> {
  const validities = new Map<string, Validity>()
  if (tls !== undefined) validities.set('tls-cert', validityOf(tls))
  if (http.isOwn && http.tls !== undefined) validities.set('http-tls-cert', validityOf(http.tls))
  return validities
}

interface Certificates {
  readonly clients: { readonly tls?: Certificate }
  readonly http: HttpTables
}

export interface HttpRelay {
  /** Of the queue; undefined: it lies in a store. */
  readonly directory: string | undefined
  /** Where it lies, for a list of queues. */
  readonly place: QueuePlace
  readonly hostname: string
  readonly tables: () => HttpTables
  readonly facts: () => RelayFacts
  /** Where mail goes in. */
  readonly door: () => SubmitDoor
  readonly conversationsOf: (id: string) => readonly Conversation[]
  readonly log: Logger
}

/** The framework is loaded only here.
 * @returns makes the API, in the turn in which the queue is open */
export async function loadHttp(): Promise<(queue: Queue, relay: HttpRelay) => RelayHttp> {
  const { HttpApi } = await import('../../../src/http/http-api.js')
  return (queue, relay) => new RelayHttp(queue, relay, HttpApi)
}

/** The API of this relay at all of its addresses. */
export class RelayHttp {
  readonly #api: HttpApi
  readonly #relay: HttpRelay
  readonly #listeners: HttpListener[] = []
  #own: { readonly text: string; readonly tokens: Tokens } | undefined
  #hasBegun = false

  constructor(queue: Queue, relay: HttpRelay, Api: typeof HttpApi) {
    const { directory, place, hostname, tables, facts, door, log, conversationsOf } = relay
    this.#relay = relay
    this.#api = new Api(queue, {
      tokens: () => tables().tokens ?? this.#own?.tokens ?? tokensIn('', ownTokenName),
      door: { submit: (submission, client) => door().submit(submission, client) },
      version: versionText(),
      hostname,
      place,
      facts,
      conversationsOf,
      ...(directory === undefined ? undefined : { directory, rateFile: join(directory, rateFileName) }),
      onError: (error) => log.warn({ err: error }, 'the HTTP API has met an error'),
      onOperation: ({ id, do: verb, selector, dryRun, by, state, counts }) =>
        log.info({ operation: id, verb, selector, dryRun, by, state, ...counts }, 'asked over HTTP'),
    })
  }

  /** Says where it answers: at all of these, or at none.
   * @param told what stands before an address @param pages that are shown beside the API
   * @throws the system's error when a port cannot be had; UsageError for a token that
   * others may read */
  async answer(places: readonly Endpoint[], told: string, pages: readonly HttpPage[] = []): Promise<void> {
    if (!this.#hasBegun) {
      this.#hasBegun = true
      await this.#api.begin()
    }
    const { directory, tables, log } = this.#relay
    if (tables().tokens === undefined && directory === undefined)
      throw new UsageError('a queue in a store has no file for a token: --http wants --http-tokens')
    if (tables().tokens === undefined && directory !== undefined) {
      const text = await ownToken(join(directory, ownTokenName))
      this.#own = { text, tokens: soleToken(text) }
    }
    const listeners: HttpListener[] = []
    try {
      for (const place of places)
        listeners.push(await this.#api.listen({ ...place, tls: this.#tlsAt(place), pages }))
    } catch (error) {
      for (const listener of listeners) listener.close()
      throw error
    }
    for (const [index, listener] of listeners.entries()) {
      const scheme = this.#tlsAt(places[index]!) === undefined ? 'http' : 'https'
      const url = `${scheme}://${formatEndpoint(listener)}`
      log.info({ http: url }, told)
      process.stdout.write(`${told} on ${url}${pages.length > 0 ? `/${this.#link()}` : '/v1'}\n`)
    }
    this.#listeners.push(...listeners)
  }

  /** What is wrong with the queue, the worst first. */
  problems(): Problem[] {
    return this.#api.problems()
  }

  /** What a reload has read: tokens are asked for by each request. */
  takeUp({ tls }: HttpTables): void {
    if (tls !== undefined) for (const listener of this.#listeners) listener.takeUp(tls)
  }

  /** Drops the ports, and writes the counts of the day down. Requests that change something have
   * their answers first:
   *    1. a message that was submitted is durable
   *    2. the connection is reset
   *    3. the client submits it again, without an idempotency key */
  async end(): Promise<void> {
    const timer = new AbortController()
    const late = sleep(lastAnswersMs, undefined, { signal: timer.signal }).catch(() => undefined)
    await Promise.race([Promise.all(this.#listeners.map((listener) => listener.leave())), late])
    timer.abort()
    for (const listener of this.#listeners) listener.close()
    await this.#api.end()
  }

  /** On this machine TLS only where it is asked for by its own options. */
  #tlsAt(place: Endpoint): Certificate | undefined {
    const { tls, isOwn } = this.#relay.tables()
    return isHere(place) && !isOwn ? undefined : tls
  }

  /** The token that opens the console: on a terminal only, for a log is read by others. */
  #link(): string {
    return this.#own !== undefined && process.stdout.isTTY ? `#token=${this.#own.text}` : ''
  }
}

const othersMay = 0o077

/** The token for users that may read the queue's files, made at the first start.
 * @throws UsageError when others may read it; the system's error */
async function ownToken(path: string): Promise<string> {
  const found = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return undefined
  })
  if (found === undefined) {
    const token = newToken()
    await writeFile(path, `${token}\n`, { mode: 0o600, flag: 'wx' })
    return token
  }
  if (((await stat(path)).mode & othersMay) !== 0)
    throw new UsageError(`${path} is the key to the API, and others may read it: chmod 600, or remove it`)
  const token = found.trim()
  if (token.length < tokenLengthMin)
    throw new UsageError(`${path} holds no token: remove it, and a new one is made`)
  return token
}
