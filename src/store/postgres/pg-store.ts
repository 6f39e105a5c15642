/** A store on PostgreSQL: finds the server that takes changes.
 * Invariant: a connection is to a server that says it is no standby, has our schema, and has no
 * earlier timeline than was seen before. An old primary that wakes up says the first as well;
 * it never answers a change, because no standby follows it, and the claim or resume that begins
 * a tenure is one. */
import { randomUUID } from 'node:crypto'
import type { Clock } from '../../base/clock.js'
import { thrownText } from '../../base/realms.js'
import { isWaybillError, WaybillError } from '../../errors.js'
import { directSetting, untimed } from './client-url.js'
import { hostOf, PgConnection, pooled } from './pg-connection.js'
import { PgCalls } from './pg-calls.js'
import { PgSession, tagOf } from './pg-session.js'
import { otherSchemaReason, schemaVersion } from './schema.js'
import { done, refusalError, refused, unknown, type Answer, type Session, type Store } from '../store.js'
import type { CallConnection, CallStore } from '../calls.js'
import { choosePrimary } from '../primary.js'
import type { StorePlace } from '../store-url.js'

/** How long others that say they are primary are waited for. */
const graceMs = 300

interface Candidate {
  readonly connection: PgConnection
  readonly timeline: number
}

export class PgStore implements Store, CallStore {
  readonly name: string
  readonly #place: StorePlace
  readonly #clock: Clock
  #timelineSeen = 0

  constructor(place: StorePlace, clock: Clock) {
    this.name = place.name
    this.#place = place
    this.#clock = clock
  }

  newNonce(): string {
    return randomUUID()
  }

  async connect(nonce: string | undefined): Promise<Answer<Session>> {
    const connected = await this.#connectKnown(nonce)
    if (connected.kind !== 'done') return connected
    const { connection, timeline } = connected.value
    return done(new PgSession(connection, timeline))
  }

  async connectCalls(): Promise<Answer<CallConnection>> {
    const connected = await this.#connectKnown(undefined)
    if (connected.kind !== 'done') return connected
    const { connection, timeline } = connected.value
    const found = await connection.ask({ text: "SELECT to_regclass('waybill.call_piece')", isRead: true })
    if (found.kind === 'done' && found.value.rows[0]?.[0] !== null)
      return done({
        calls: new PgCalls(connection, () => this.newNonce()),
        session: new PgSession(connection, timeline),
      })
    connection.close()
    if (found.kind !== 'done') return found
    const reason = 'the store has no tables for calls; `waybill store init` adds them'
    return refused({
      kind: 'failed',
      error: new WaybillError('NOT_A_QUEUE', reason, { directory: this.name }),
    })
  }

  /** With our schema. */
  async #connectKnown(nonce: string | undefined): Promise<Answer<Candidate>> {
    const connected = await this.connectAny(nonce)
    if (connected.kind !== 'done') return connected
    const { connection } = connected.value
    const text = "SELECT to_regclass('waybill.schema')"
    const schema = await connection.ask({ text, isRead: true })
    const version =
      schema.kind !== 'done' || schema.value.rows[0]?.[0] === null
        ? schema
        : await connection.ask({ text: 'SELECT version FROM waybill.schema', isRead: true })
    const reason = version.kind === 'done' ? schemaReason(version.value.rows[0]?.[0]) : undefined
    if (version.kind === 'done' && reason === undefined) return connected
    connection.close()
    if (version.kind !== 'done') return version
    const error = new WaybillError('NOT_A_QUEUE', reason!, { directory: this.name })
    return refused({ kind: 'failed', error })
  }

  /** Whatever its schema. Refused when each server refuses: of several that one does is no reason,
   * for another will be the primary. */
  async connectAny(nonce: string | undefined): Promise<Answer<Candidate>> {
    const { urls } = this.#place
    const candidates: Candidate[] = []
    const errors: WaybillError[] = []
    const reasons: string[] = []
    const over = new AbortController()
    await new Promise<void>((resolve) => {
      let waiting = urls.length
      const oneLess = (): void => {
        if (--waiting === 0) resolve()
      }
      for (const url of urls)
        this.#candidate(url, nonce, over.signal).then(
          (candidate) => {
            if (candidate === undefined) reasons.push(`${hostOf(url)}: a standby`)
            else if (over.signal.aborted) candidate.connection.close()
            else candidates.push(candidate)
            if (candidates.length === 1) this.#clock.after(graceMs, resolve)
            oneLess()
          },
          (error: unknown) => {
            if (isWaybillError(error)) errors.push(error)
            reasons.push(`${hostOf(url)}: ${thrownText(error)}`)
            oneLess()
          },
        )
    })
    over.abort()
    const best = choosePrimary(candidates, this.#timelineSeen)
    for (const candidate of candidates) if (candidate !== best) candidate.connection.close()
    const [refusal, ...more] = errors.filter(({ code }) => code !== 'STORE_UNREACHABLE')
    if (refusal !== undefined && 1 + more.length === urls.length)
      return refused({ kind: 'failed', error: refusal })
    const only = urls.length === 1 ? errors[0] : undefined
    if (best === undefined) return unknown(only ?? this.#noPrimary(reasons, candidates))
    this.#timelineSeen = best.timeline
    return done(best)
  }

  /** @param over nobody waits for it any more: a silent server keeps no process from its end
   * @returns undefined for a standby */
  async #candidate(
    url: string,
    nonce: string | undefined,
    over: AbortSignal,
  ): Promise<Candidate | undefined> {
    const { deadlineMs } = this.#place
    const tag = tagOf(nonce)
    const connection = await PgConnection.open({ url, tag, deadlineMs, clock: this.#clock, over })
    const text =
      'SELECT pg_is_in_recovery(), CASE WHEN pg_is_in_recovery() THEN NULL' +
      ` ELSE pg_walfile_name(pg_current_wal_lsn()) END, current_setting('${directSetting}', true), ${untimed}`
    const answer = await connection.whileAsked(over, () => connection.ask({ text, isRead: true }))
    const [row] = answer.kind === 'done' ? answer.value.rows : []
    if (row !== undefined && row[2] !== 'yes') {
      connection.close()
      throw pooled(url)
    }
    if (row?.[0] === false) return { connection, timeline: Number.parseInt(String(row[1]).slice(0, 8), 16) }
    connection.close()
    if (answer.kind === 'unknown') throw answer.error
    // A server that refuses to say what it is may say it the next time.
    if (answer.kind === 'done') return undefined
    throw new WaybillError('STORE_UNREACHABLE', refusalError(answer.refusal).message)
  }

  #noPrimary(reasons: readonly string[], candidates: readonly Candidate[]): WaybillError {
    const older = candidates.map(
      ({ timeline }) =>
        `one of timeline ${timeline}, where ${this.#timelineSeen} was seen: an old primary, or a restored store`,
    )
    const reason = `no server of the store takes changes (${[...reasons, ...older].join('; ')})`
    // Names its servers: callers add the store.
    return new WaybillError('STORE_UNREACHABLE', reason)
  }
}

function schemaReason(version: unknown): string | undefined {
  if (version === schemaVersion) return undefined
  return typeof version === 'number'
    ? otherSchemaReason(version)
    : 'there are no tables of Waybill in this database; `waybill store init` makes them'
}
