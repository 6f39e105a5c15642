/** smtp-server with several ports before the same sessions, some of which begin with TLS.
 * Invariant: limits are for all ports together, and a client counts from its connection on, during
 * a handshake, too. */
import { randomBytes } from 'node:crypto'
import { createServer, type Server, type Socket } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import type { SMTPConnectionOptions } from 'smtp-server/lib/smtp-connection.js'
import { thrownText } from '../../base/realms.js'
import { WaybillError } from '../../errors.js'
import type { StartQueue } from '../etrn.js'
import { listening, type Bound, type HowToListen } from '../listening.js'
import { requestMsOf, Session, type CourtesyTo } from './smtp-session.js'

export interface Place extends HowToListen {
  readonly host: string
  /** 0 takes any free one. */
  readonly port: number
  /** The handshake comes before the greeting, as on port 465 (RFC 8314 §3); wants a certificate. */
  readonly implicitTls?: boolean
}

/** PEM. */
export interface Certificate {
  /** With those between it and a root. */
  readonly cert: string
  readonly key: string
}

/** Session ids: smtp-server asks for random bytes each time, at 2 % of a session. */
const idBits = 80
let lastId = BigInt(`0x${randomBytes(idBits / 8).toString('hex')}`)

function nextId(): string {
  lastId = BigInt.asUintN(idBits, lastId + 1n)
  return lastId.toString(32).padStart(idBits / 5, '0')
}

/** In which a balancer names the client, if no client has less time for a command. */
const proxyLineMsMax = 5000

/** Of the time for a request, how much passes between two looks, at most so many milliseconds. */
const lookShare = 1 / 10
const lookMsMax = 10_000

/** Those that have not ended. */
class Sessions extends Set<Session> {
  #ended = (): void => {}

  override delete(session: Session): boolean {
    const isDeleted = super.delete(session)
    if (this.size === 0) this.#ended()
    return isDeleted
  }

  /** Settles when there is none. */
  ended(): Promise<void> {
    return new Promise((resolve) => {
      this.#ended = resolve
      if (this.size === 0) resolve()
    })
  }
}

export class SessionServer extends SMTPServer {
  readonly #courtesyTo: CourtesyTo
  readonly #isBalancer: (address: string) => boolean
  readonly #sessions = new Sessions()
  /** The data of a session for a handler. */
  readonly #sessionOf = new WeakMap<object, Session>()
  readonly #servers: Server[] = []
  /** Of balancers that have not named the client. */
  readonly #unnamed = new Set<Socket>()
  /** One for all sessions. */
  readonly #looks: NodeJS.Timeout

  /** Undefined: ETRN is not offered. */
  readonly startQueue: StartQueue | undefined

  /** @param isBalancer connections from this address begin with a line PROXY */
  constructor(
    options: SMTPServerOptions,
    courtesyTo: CourtesyTo,
    startQueue?: StartQueue,
    isBalancer: (address: string) => boolean = () => false,
  ) {
    super({ ...options, useProxy: true })
    this.startQueue = startQueue
    this.#courtesyTo = courtesyTo
    this.#isBalancer = isBalancer
    const onData = this.onData.bind(this)
    this.onData = (source, told, done) => {
      const decided = this.#undecided(told, done)
      onData(source, told, (error, text) => {
        if (!error) this.#sessionOf.get(told)?.forgive()
        decided(error, text)
      })
    }
    const onAuth = this.onAuth.bind(this)
    this.onAuth = (auth, told, done) => onAuth(auth, told, this.#undecided(told, done))
    let lookedAt = performance.now()
    const look = (): void => {
      const passedMs = performance.now() - lookedAt
      lookedAt += passedMs
      const isBusy = this.#sessions.size * 2 > (options.maxClients ?? Infinity)
      for (const session of this.#sessions) session.look(passedMs, isBusy)
    }
    this.#looks = setInterval(look, Math.min(lookMsMax, requestMsOf(this) * lookShare)).unref()
  }

  /** Until the handler calls what this returns. */
  #undecided<Decision extends unknown[]>(
    told: object,
    done: (...decision: Decision) => void,
  ): (...decision: Decision) => void {
    const session = this.#sessionOf.get(told)
    session?.setUndecided(true)
    return (...decision) => {
      session?.setUndecided(false)
      done(...decision)
    }
  }

  /** Resolves when it answers there. All places have the same limits, together.
   * @throws the system's error when the port cannot be had */
  async listenAt({ host, port, implicitTls = false, ...how }: Place): Promise<Bound> {
    //    1. a client sends its message and ends its side, as `nc -N` does
    //    2. Node ends ours
    //    3. the message is durable, and 250 cannot be written
    const server = createServer({ allowHalfOpen: true }, (socket) => this.#accept(socket, implicitTls))
    const bound = await listening(server, host, port, how)
    server.on('error', (error) => this._onError(error))
    this.#servers.push(server)
    return bound
  }

  /** A balancer names the client before the greeting and the handshake. What clients may do by
   * their addresses all of them could do by the balancer's. */
  #accept(socket: Socket, implicitTls: boolean): void {
    const { remoteAddress = '' } = socket
    if (!this.#isBalancer(remoteAddress)) return this.connect(socket, {}, implicitTls)
    let isLate = false
    const late = (): void => {
      isLate = true
      socket.destroy()
    }
    const timer = setTimeout(late, Math.min(proxyLineMsMax, requestMsOf(this)))
    this.#unnamed.add(socket)
    this._handleProxy(socket, (error, options) => {
      clearTimeout(timer)
      // It was dropped.
      if (!this.#unnamed.delete(socket)) return
      if (options !== undefined) this.connect(socket, options, implicitTls)
      // One that says nothing and goes looks whether the port is open.
      else if (isLate || socket.bytesRead > 0)
        this._onError(new Error(`no line PROXY from ${remoteAddress}: ${error?.message}`))
    })
  }

  override connect(socket: Socket, options: SMTPConnectionOptions, implicitTls = false): void {
    const known = { id: nextId(), ...options }
    const session = new Session(
      this,
      socket,
      known,
      this.#courtesyTo,
      this.#sessions,
      implicitTls,
      this.startQueue,
    )
    this.connections.add(session)
    this.#sessionOf.set(session.session, session)
    session.on('error', (error: Error) => this._onError(error))
    session.on('connect', (info: Parameters<SMTPServer['_onClientConnect']>[0]) =>
      this._onClientConnect(info),
    )
    session.init()
  }

  /** Handshakes from now on show it. An invalid one changes nothing: smtp-server drops the old one
   * before it looks at the new one, so the old one is put back.
   * @throws WaybillError OPTION_INVALID */
  renewCertificate(renewed: Certificate): void {
    const { secureContext, options } = this
    const { cert, key } = options
    try {
      this.updateSecureContext({ cert: renewed.cert, key: renewed.key })
    } catch (error) {
      Object.assign(options, { cert, key })
      this.secureContext = secureContext
      const reason = thrownText(error)
      throw new WaybillError(
        'OPTION_INVALID',
        `no certificate and its key: ${reason}`,
        { option: 'tls' },
        error,
      )
    }
  }

  /** Takes no new session; those that there are go on. */
  closePorts(): void {
    for (const server of this.#servers) server.close()
  }

  /** Ends every session: settles when the last one has its answer, and has ended. */
  leave(): Promise<void> {
    this.#close()
    for (const session of this.#sessions) session.leave()
    return this.#sessions.ended()
  }

  /** Drops every session as it stands. */
  abandon(): void {
    this.#close()
    for (const session of this.#sessions) session._socket.destroy()
  }

  #close(): void {
    clearInterval(this.#looks)
    this.closePorts()
    for (const socket of this.#unnamed) {
      this.#unnamed.delete(socket)
      socket.destroy()
    }
  }
}
