/** Questions to servers of the DNS that say what is proven (DNSSEC): what Node's `dns`, which shows
 * neither that nor TLSA records, is not there for.
 * Invariant: an answer comes from the asked server, over a port and with a number drawn for this
 * one question (RFC 5452); anything else is ignored. A server that is silent, or not there, is
 * followed by the next; what one answers is the answer:
 *    1. the first server finds a forged answer and says SERVFAIL
 *    2. the second, which checks nothing, is asked
 *    3. it is believed */
import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { connect, isIPv6 } from 'node:net'
import type { Clock } from '../../base/clock.js'
import {
  DnsError,
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
  /** Who comes in their turn. */
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
        // Who has no more to say by TCP either, or answers something else, has no answer.
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
