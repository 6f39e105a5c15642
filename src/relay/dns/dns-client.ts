/** A client of DNS servers that check DNSSEC: Node's `dns` shows neither proof nor TLSA records.
 * Invariant: an answer comes from the asked server, over a port and with a number drawn for this
 * one question (RFC 5452); anything else is ignored. A server that is silent, or not there, is
 * followed by the next; what one answers is the answer:
 *    1. the first server finds a forged answer and says SERVFAIL
 *    2. the second, which checks nothing, is asked
 *    3. it is believed */
import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns'
import { connect, isIPv6, isIP } from 'node:net'
import { thrownText } from '../../base/realms.js'
import type { Clock } from '../../base/clock.js'
import { nexthopParts, plainAddress } from '../tables/nexthop.js'
import {
  DnsError,
  dnsMessagesReady,
  questionMessage,
  replyIn,
  type DnsData,
  type DnsQuestion,
  type DnsReply,
  type DnsType,
} from './dns-message.js'

export interface DnsServer {
  readonly address: string
  readonly port: number
  /** What it says to be proven is. */
  readonly isTrusted: boolean
}

/** Milliseconds for the first try at one server, twice as many for the next; and tries at each. */
const tryMs = 3000
const tries = 2
/** As many as resolv.conf has. @see resolv.conf(5), MAXNS */
export const serversMax = 3

/** Questions at once: each has a socket, and a domain may have twenty mail hosts. */
const questionsMax = 8

/** Begins an exchange, and is called back later. @returns what ends it */
type Exchange<T> = (done: (value: T) => void, failed: (error: Error) => void) => () => void

/** Of one attempt. */
export class DnsClient {
  readonly #servers: readonly DnsServer[]
  readonly #clock: Clock
  readonly #open = new Set<() => void>()
  /** Questions that wait for their turn. */
  readonly #line: (() => void)[] = []
  #askingCount = 0
  #isClosed = false

  constructor(servers: readonly DnsServer[], clock: Clock) {
    this.#servers = servers.slice(0, serversMax)
    this.#clock = clock
  }

  /** @param name in lower case @throws Error with a `code` when nobody knows */
  async ask<T extends DnsType>(type: T, name: string): Promise<DnsReply<DnsData[T]>> {
    if (this.#askingCount < questionsMax) this.#askingCount++
    else await new Promise<void>((resolve) => this.#line.push(resolve))
    try {
      return await this.#asked(type, name)
    } finally {
      const next = this.#line.shift()
      if (next === undefined) this.#askingCount--
      else next()
    }
  }

  /** All waiting questions end, and nothing is left open. */
  close(): void {
    this.#isClosed = true
    for (const abandon of this.#open) abandon()
  }

  async #asked<T extends DnsType>(type: T, name: string): Promise<DnsReply<DnsData[T]>> {
    const loading = dnsMessagesReady()
    if (loading !== undefined) await loading
    let error: unknown = withCode('ECONNREFUSED')
    for (let round = 0; round < tries; round++)
      for (const server of this.#servers) {
        const question = { id: randomInt(0x1_0000), type, name }
        const timeoutMs = tryMs << round
        try {
          const overUdp = await this.#exchanged(byUdp(server, question), timeoutMs)
          const reply =
            overUdp === 'truncated' ? await this.#exchanged(byTcp(server, question), timeoutMs) : overUdp
          return { ...reply, isProven: reply.isProven && server.isTrusted }
        } catch (cause) {
          if (this.#isClosed || cause instanceof DnsError) throw cause
          error = cause
        }
      }
    throw error
  }

  #exchanged<T>(exchange: Exchange<T>, timeoutMs: number): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(withCode('ECANCELLED'))
      const ended = (): void => {
        timer.cancel()
        this.#open.delete(abandon)
        stop()
      }
      const failed = (error: Error): void => {
        ended()
        reject(error)
      }
      const abandon = (): void => failed(withCode('ECANCELLED'))
      const stop = exchange((value) => {
        ended()
        resolve(value)
      }, failed)
      const timer = this.#clock.after(timeoutMs, () => failed(withCode('ETIMEOUT')))
      this.#open.add(abandon)
    })
  }
}

const withCode = (code: string): Error => Object.assign(new Error(code), { code })

function byUdp<T extends DnsType>(
  { address, port }: DnsServer,
  question: DnsQuestion<T>,
): Exchange<DnsReply<DnsData[T]> | 'truncated'> {
  const message = questionMessage(question)
  return (done, failed) => {
    const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4')
    socket.on('error', failed)
    socket.on(
      'message',
      reading((bytes) => replyIn(bytes, question), done, failed),
    )
    let isOpen = true
    // Connected, it hears nobody else, and that nobody is there.
    socket.connect(port, address, (error?: Error) => {
      if (!isOpen) return
      if (error) failed(error)
      else socket.send(message)
    })
    return () => {
      if (isOpen) socket.close()
      isOpen = false
    }
  }
}

function byTcp<T extends DnsType>(
  { address, port }: DnsServer,
  question: DnsQuestion<T>,
): Exchange<DnsReply<DnsData[T]>> {
  const message = questionMessage(question)
  const length = Buffer.alloc(2)
  length.writeUInt16BE(message.length)
  return (done, failed) => {
    const socket = connect({ host: address, port })
    let received = Buffer.alloc(0)
    socket.on('error', failed)
    socket.on('close', () => failed(withCode('ECONNRESET')))
    const read = reading(
      (bytes) => {
        const reply = replyIn(bytes, question)
        // A server that truncates over TCP, too, or answers something else, has no answer.
        if (reply === undefined || reply === 'truncated') throw new DnsError('EBADRESP')
        return reply
      },
      done,
      failed,
    )
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      if (received.length < 2) return
      const end = 2 + received.readUInt16BE(0)
      if (received.length >= end) read(received.subarray(2, end))
    })
    socket.write(Buffer.concat([length, message]))
    return () => {
      socket.removeAllListeners('close')
      socket.removeAllListeners('data')
      socket.destroy()
    }
  }
}

const reading =
  <T>(read: (message: Buffer) => T | undefined, done: (value: T) => void, failed: (error: Error) => void) =>
  (bytes: Buffer): void => {
    let value: T | undefined
    try {
      value = read(bytes)
    } catch (error) {
      if (!(error instanceof DnsError)) throw error
      return failed(error)
    }
    if (value !== undefined) done(value)
  }

const portDefault = 53

/** ADDRESS, or ADDRESS:PORT, in brackets where that has colons.
 * @returns undefined for anything else */
export function readDnsServer(text: string): DnsServer | undefined {
  if (isIP(text) !== 0) return { address: text, port: portDefault, isTrusted: true }
  const parts = nexthopParts(text, portDefault)
  if (parts === undefined || isIP(parts.text) === 0) return undefined
  return { address: parts.text, port: parts.port, isTrusted: true }
}

/** As /etc/resolv.conf has them now: c-ares reads it when a resolver is made (64 µs)
 * and never again. */
export const systemDnsServers = (): readonly DnsServer[] => trustedOf(new Resolver().getServers())

/** Whose word counts. Nobody is believed over a path on which others may write: of the system's
 * servers those on this machine count, and are then the only ones asked, as others might check
 * nothing; a server elsewhere is trusted when it was named for that. libc does the same where
 * resolv.conf has no `trust-ad`:
 *    1. the resolver is elsewhere
 *    2. an attacker on the path sets AD, and writes other TLSA records
 *    3. the attacker's server is trusted */
export function trustedOf(system: readonly string[]): readonly DnsServer[] {
  const all = system.flatMap((text) => readDnsServer(text) ?? [])
  const here = all.filter(({ address }) => isHere(address))
  return here.length > 0 ? here : all.map((server) => ({ ...server, isTrusted: false }))
}

function isHere(address: string): boolean {
  const plain = plainAddress(address)
  return plain === '::1' || plain.startsWith('127.')
}

/** By the root, which is signed. @returns why nothing that it says is proven */
export async function proofTroubleOf(server: DnsServer, clock: Clock): Promise<string | undefined> {
  if (!server.isTrusted) return 'it is not on this machine, and was not named as one to trust'
  const client = new DnsClient([server], clock)
  try {
    const { isProven } = await client.ask('SOA', '.')
    return isProven ? undefined : 'it does not validate: of the root, which is signed, it says nothing proven'
  } catch (error) {
    return `it does not answer: ${thrownText(error)}`
  } finally {
    client.close()
  }
}
