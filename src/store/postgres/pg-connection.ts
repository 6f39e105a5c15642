/** One connection to a PostgreSQL server; the only file that calls `pg`.
 * Invariants:
 * 1. Every question has a deadline, that of the connection itself too: `pg` waits for ever for
 * a server that has vanished.
 * 2. A question during which the server warned is `unknown`. PostgreSQL reports success, with a
 * warning, when the wait for a standby was cancelled: committed here, perhaps nowhere else. The
 * server may say WARNING in any language: codes tell, not words.
 * 3. After an answer that did not come, the connection is dropped: a later answer would be
 * taken for that of the next question. */
import type pg from 'pg'
import { thrownText } from '../../base/realms.js'
import type { Clock } from '../../base/clock.js'
import { isWaybillError, WaybillError } from '../../errors.js'
import { done, fenced, refusalError, refused, unknown, type Answer } from '../store.js'
import { clientUrl } from './client-url.js'
import { filedPassword } from './filed-password.js'
import { isDatabaseError, loadPg } from './pg-package.js'

export interface Question {
  readonly text: string
  readonly values?: readonly unknown[]
  /** A warning says nothing about what it did. */
  readonly isRead?: boolean
  /** It looks at all files, and has four deadlines. */
  readonly isLong?: boolean
}

/** Rows of arrays, and how many rows were changed. */
export interface Rows {
  readonly rows: readonly (readonly unknown[])[]
  readonly count: number
}

export interface ConnectOptions {
  /** Of one host. */
  readonly url: string
  /** How pg_stat_activity calls it. */
  readonly tag: string
  readonly deadlineMs: number
  readonly clock: Clock
  /** Nobody waits for the connection any more. */
  readonly over?: AbortSignal
}

/** States in which nobody can tell what happened, by their class: connection, operator,
 * shutdown, resources, a server that became a standby, a session that had its time. */
const unknownStates = /^(?:08|57|53[23]|25006|25P0[34]|40|58)/

/** Where a read meets a fault of the server's disk, that is the answer: it is met again. */
const faultOfDisk = /^58/

const longDeadlines = 4
const noRights = '42501'

/** Of a NOTICE, which says nothing about what was done. */
const successCode = '00000'
/** Functions of the server that warn of something else: transaction ids are running out. */
const otherWarners: ReadonlySet<string> = new Set(['GetNewTransactionId', 'GetNewMultiXactId'])

/** @throws WaybillError OPTION_INVALID */
async function clientOf({ url, tag }: ConnectOptions): Promise<pg.Client> {
  const { Client } = await loadPg()
  try {
    return new Client({
      connectionString: clientUrl(url),
      application_name: tag,
      keepAlive: true,
      keepAliveInitialDelayMillis: 5000,
    })
  } catch (error) {
    const reason = `the URL of the store: ${thrownText(error)}`
    throw new WaybillError('OPTION_INVALID', reason, { option: 'store' }, error)
  }
}

/** A function is asked when the server wants a password. */
interface PasswordHolder {
  password: string | null | undefined | (() => Promise<string | undefined>)
}

/** Asked when the server wants one. @throws WaybillError OPTION_INVALID: there is none */
async function passwordOf(client: pg.Client, url: string): Promise<string> {
  const password = await filedPassword(client)
  if (password !== undefined) return password
  const { user, host, port, database } = client
  const reason = `${hostOf(url)} wants a password: neither PGPASSWORD nor the file of PGPASSFILE has one for ${host}:${port}:${database}:${user}`
  throw notAsTold(reason, undefined)
}

export class PgConnection {
  readonly #client: pg.Client
  readonly #options: ConnectOptions
  /** Settles when the question before has its answer. */
  #turn: Promise<unknown> = Promise.resolve()
  #warning: string | undefined
  #failure: WaybillError | undefined

  private constructor(client: pg.Client, options: ConnectOptions) {
    this.#client = client
    this.#options = options
    client.on('error', (error) => this.#fail(error))
    client.on('end', () => this.#fail(undefined))
    client.on('notice', ({ code, routine, message }) => {
      if (code !== successCode && !otherWarners.has(routine ?? '')) this.#warning = message
    })
  }

  /** @throws WaybillError STORE_UNREACHABLE; OPTION_INVALID for a certificate that cannot be read
   * or is not accepted, for a server without TLS, and for a pooler; DISK_FAILED when the server
   * refuses it, for a password that is wrong */
  static async open(options: ConnectOptions): Promise<PgConnection> {
    const client = await clientOf(options)
    // Where neither the URL nor the environment has one.
    const login = client as unknown as PasswordHolder
    login.password ??= () => passwordOf(client, options.url)
    const connection = new PgConnection(client, options)
    const connected = (): Promise<Answer<void>> => connection.#inTime(client.connect().then(() => undefined))
    const answer = await connection.whileAsked(options.over, connected)
    if (answer.kind === 'done') return connection
    connection.close()
    if (answer.kind === 'unknown') throw misled(options.url, answer.error.cause) ?? answer.error
    throw answer.refusal.kind === 'failed' ? answer.refusal.error : unreachable('no connection', undefined)
  }

  /** One after the other: the deadline of a question begins when the one before it was answered. */
  ask(question: Question): Promise<Answer<Rows>> {
    const turn = this.#turn.then(() => this.#ask(question))
    this.#turn = turn
    return turn
  }

  async #ask({ text, values = [], isRead = false, isLong = false }: Question): Promise<Answer<Rows>> {
    if (this.#failure !== undefined) return unknown(this.#failure)
    this.#warning = undefined
    const asked = this.#client.query({ text, values: [...values], rowMode: 'array' })
    const answer = await this.#inTime(asked, isLong ? longDeadlines : 1, isRead)
    if (answer.kind !== 'done') return answer
    const warning = this.#warned()
    if (warning !== undefined && !isRead) {
      this.#fail(unreachable(`the store warned: ${warning}`, undefined))
      return unknown(this.#failure ?? unreachable(warning, undefined))
    }
    return done({ rows: answer.value.rows as unknown[][], count: answer.value.rowCount ?? 0 })
  }

  /** Ends the connection when nobody waits any more for what is asked. */
  async whileAsked<T>(over: AbortSignal | undefined, asked: () => Promise<T>): Promise<T> {
    const end = (): void => this.close()
    if (over?.aborted === true) end()
    over?.addEventListener('abort', end)
    try {
      return await asked()
    } finally {
      over?.removeEventListener('abort', end)
    }
  }

  /** Calls back when a notification comes, and when the connection has ended. @returns stops it */
  onNotice(tell: () => void): () => void {
    this.#client.on('notification', tell)
    this.#client.on('end', tell)
    return () => {
      this.#client.off('notification', tell)
      this.#client.off('end', tell)
    }
  }

  close(): void {
    this.#fail(undefined)
  }

  /** Behind the last question. */
  #warned(): string | undefined {
    return this.#warning
  }

  /** What it settles with, or `unknown` at the deadline. */
  #inTime<T>(asked: Promise<T>, deadlines = 1, isRead = false): Promise<Answer<T>> {
    const { clock } = this.#options
    const deadlineMs = deadlines * this.#options.deadlineMs
    return new Promise((resolve) => {
      const timer = clock.after(deadlineMs, () => {
        const error = new Error(`no answer for ${deadlineMs} ms`)
        this.#fail(error)
        resolve(unknown(unreachable(error.message, error)))
      })
      asked.then(
        (value) => {
          timer.cancel()
          resolve(done(value))
        },
        (error: unknown) => {
          timer.cancel()
          resolve(this.#answerOf(error, isRead))
        },
      )
    })
  }

  #answerOf(error: unknown, isRead: boolean): Answer<never> {
    if (isWaybillError(error)) return unknown(error)
    const answer = pgAnswer(error, isRead)
    if (answer.kind === 'unknown') this.#fail(answer.error)
    return answer
  }

  #fail(cause: unknown): void {
    if (this.#failure !== undefined) return
    this.#failure = isWaybillError(cause)
      ? cause
      : unreachable('the connection to the store has ended', cause)
    // Not `end()`: that waits for what is in flight.
    streamOf(this.#client).destroy()
  }
}

/** @throws WaybillError what the server refuses with, or did not answer */
export async function rowsOf(connection: PgConnection, question: Question): Promise<Rows> {
  const answer = await connection.ask(question)
  if (answer.kind === 'done') return answer.value
  throw answer.kind === 'unknown' ? answer.error : refusalError(answer.refusal)
}

/** Undocumented, and there since the first release: `end()` waits for a server that is gone. */
const streamOf = (client: pg.Client): { destroy(): void } =>
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream

/** Of certificates, by Node's codes: those of OpenSSL, and of its check of names. */
const certificateCodes =
  /^(?:UNABLE_TO_|CERT_|CRL_|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH|ERR_TLS_CERT_)/
/** Of `pg`: an error without a code. */
const withoutTls = 'does not support SSL'
/** What pgbouncer says of settings that it does not know. */
const protocolViolation = '08P01'

/** Why a server will not be connected to until its operator changes something; undefined: later
 * it may be. */
function misled(url: string, error: unknown): WaybillError | undefined {
  if (error === undefined) return undefined
  const { code } = error as { readonly code?: unknown }
  const text = thrownText(error)
  if (code === protocolViolation) return pooled(url, error)
  if (typeof code === 'string' && certificateCodes.test(code))
    return notAsTold(`the certificate of ${hostOf(url)} is not accepted: ${text}`, error)
  return text.includes(withoutTls) ? notAsTold(`${hostOf(url)}: ${text}`, error) : undefined
}

/** A connection is not one to a server. */
export const pooled = (url: string, cause?: unknown): WaybillError =>
  notAsTold(
    `${hostOf(url)} does not take settings of a connection: where a pooler such as pgbouncer answers, the URL has to lead to the servers behind it`,
    cause,
  )

/** Host and port of a URL, for people. */
export const hostOf = (url: string): string =>
  /^[^/]*\/\/(?:[^@/?]*@)?([^/?]*)/.exec(url)?.[1] ?? 'the server'

const notAsTold = (reason: string, cause: unknown): WaybillError =>
  new WaybillError('OPTION_INVALID', reason, { option: 'store' }, cause)

/** What an error of `pg` says about the change that was asked for. */
export function pgAnswer(error: unknown, isRead = false): Answer<never> {
  const code = isDatabaseError(error) ? error.code : undefined
  const text = thrownText(error)
  if (code === undefined || (unknownStates.test(code) && !(isRead && faultOfDisk.test(code))))
    return unknown(unreachable(text, error))
  if (code === 'WB001') return fenced
  if (code === 'WB002') return refused({ kind: 'errno', errno: text })
  if (code === '53100') return refused({ kind: 'errno', errno: 'ENOSPC' })
  // A table that an owner has dropped meanwhile.
  if (code === '42P01' && /waybill\.s\d+/.test(text)) return refused({ kind: 'errno', errno: 'ENOENT' })
  const hint =
    code === noRights
      ? '; a node needs the role that `waybill store init` had, and init one that may CREATE in the database'
      : ''
  const place = { operation: 'store', errno: code }
  const failure = new WaybillError('DISK_FAILED', `the store refused: ${text}${hint}`, place, error)
  return refused({ kind: 'failed', error: failure })
}

const unreachable = (reason: string, cause: unknown): WaybillError =>
  new WaybillError('STORE_UNREACHABLE', reason, {}, cause)
