/** Calls as SQL, on one connection.
 * Invariant: the tables are UNLOGGED and no sequence is used, so a transaction writes nothing that
 * a standby waits for: calls work while every commit waits. State and pieces of a call are read in
 * one statement, so one snapshot: when the call is seen to be over, all its pieces are seen. */
import type { CallEnd, Calls, Received } from '../calls.js'
import { done, type Answer } from '../store.js'
import type { PgConnection, Rows } from './pg-connection.js'

/** Of one direction, sent and not received. */
const unreadBytesMax = 1024 * 1024

const ownerChannel = (queue: number): string => `waybill_queue_${queue}`

/** Is the connection there that has this process id, and began at that time? */
const isThere = (end: CallEnd): string =>
  `EXISTS (SELECT FROM pg_stat_activity WHERE pid = c.${end} AND coalesce(backend_start = c.${end}_since, true))`
const mySince = '(SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid())'

export class PgCalls implements Calls {
  readonly #connection: PgConnection
  readonly #newName: () => string
  #queueHeard: number | undefined

  /** @param newName a UUID, never given before */
  constructor(connection: PgConnection, newName: () => string) {
    this.#connection = connection
    this.#newName = newName
  }

  async place(queue: number): Promise<Answer<string>> {
    const call = this.#newName()
    const heard = await this.#ask(`LISTEN "waybill_call_${call}"`, [])
    if (heard.kind !== 'done') return heard
    const text =
      'WITH made AS (INSERT INTO waybill.call (call, queue, caller, caller_since)' +
      ` VALUES ($1, $2, pg_backend_pid(), ${mySince}) RETURNING call)` +
      ' SELECT call, pg_notify($3, $4) FROM made'
    const made = await this.#ask(text, [call, queue, ownerChannel(queue), ''])
    return made.kind === 'done' ? done(call) : made
  }

  async isTaken(call: string): Promise<Answer<boolean>> {
    const answer = await this.#ask('SELECT taker IS NOT NULL FROM waybill.call WHERE call = $1', [call])
    return answer.kind === 'done' ? done(answer.value.rows[0]?.[0] === true) : answer
  }

  async withdraw(call: string): Promise<Answer<boolean>> {
    const text = 'DELETE FROM waybill.call WHERE call = $1 AND taker IS NULL'
    const answer = await this.#ask(text, [call])
    return answer.kind === 'done' ? done(answer.value.count === 1) : answer
  }

  async take(queue: number, nonce: string): Promise<Answer<readonly string[]>> {
    if (this.#queueHeard !== queue) {
      const heard = await this.#ask(`LISTEN ${ownerChannel(queue)}`, [])
      if (heard.kind !== 'done') return heard
      this.#queueHeard = queue
    }
    const swept = await this.#sweep(queue)
    if (swept.kind !== 'done') return swept
    const text =
      `UPDATE waybill.call SET taker = pg_backend_pid(), taker_since = ${mySince}` +
      ' WHERE queue = $1 AND taker IS NULL AND NOT is_over AND EXISTS' +
      ' (SELECT FROM waybill.fence WHERE queue = $1 AND part = 0 AND nonce = $2)' +
      " RETURNING call, pg_notify('waybill_call_' || call, '')"
    const answer = await this.#ask(text, [queue, nonce])
    return answer.kind === 'done' ? done(answer.value.rows.map(([call]) => String(call))) : answer
  }

  async send(
    call: string,
    from: CallEnd,
    number: number,
    piece: Buffer,
  ): Promise<Answer<'sent' | 'full' | 'over'>> {
    const text =
      'WITH open AS (SELECT call, queue FROM waybill.call WHERE call = $1 AND NOT is_over),' +
      ' sent AS (INSERT INTO waybill.call_piece (call, sender, number, bytes) SELECT call, $2::text, $3::bigint, $4::bytea FROM open' +
      ' WHERE (SELECT coalesce(sum(length(bytes)), 0) FROM waybill.call_piece' +
      ` WHERE call = $1 AND sender = $2) < ${unreadBytesMax} RETURNING call)` +
      " SELECT (SELECT count(*) FROM sent), pg_notify(CASE $2 WHEN 'caller' THEN 'waybill_queue_' || queue" +
      " ELSE 'waybill_call_' || call END, '') FROM open"
    const answer = await this.#ask(text, [call, from, number, piece])
    if (answer.kind !== 'done') return answer
    const [row] = answer.value.rows
    return done(row === undefined ? 'over' : Number(row[0]) === 1 ? 'sent' : 'full')
  }

  async receive(call: string, end: CallEnd): Promise<Answer<Received>> {
    const other = end === 'caller' ? 'taker' : 'caller'
    const text =
      'WITH received AS (DELETE FROM waybill.call_piece WHERE call = $1 AND sender = $2 RETURNING number, bytes)' +
      ' SELECT number, bytes, NULL::boolean FROM received' +
      ' UNION ALL SELECT -1, NULL, coalesce((SELECT is_over OR NOT ' +
      `${isThere(other)} FROM waybill.call c WHERE call = $1), true)`
    const answer = await this.#ask(text, [call, other])
    if (answer.kind !== 'done') return answer
    const [state, ...rows] = [...answer.value.rows].sort((a, b) => Number(a[0]) - Number(b[0]))
    return done({ pieces: rows.map((row) => row[1] as Buffer), isOver: state?.[2] === true })
  }

  async hangUp(call: string, end: CallEnd): Promise<Answer<void>> {
    const text =
      'WITH over AS (UPDATE waybill.call SET is_over = true WHERE call = $1 RETURNING call, queue),' +
      ' unread AS (DELETE FROM waybill.call_piece WHERE call = $1 AND sender <> $2)' +
      " SELECT pg_notify('waybill_queue_' || queue, ''), pg_notify('waybill_call_' || call, '') FROM over"
    const answer = await this.#ask(text, [call, end])
    return answer.kind === 'done' ? done(undefined) : answer
  }

  onNotice(tell: () => void): () => void {
    return this.#connection.onNotice(tell)
  }

  close(): void {
    this.#connection.close()
  }

  /** Calls whose caller is gone have nobody who reads. */
  async #sweep(queue: number): Promise<Answer<Rows>> {
    const calls = await this.#ask(
      `DELETE FROM waybill.call c WHERE queue = $1 AND NOT ${isThere('caller')}`,
      [queue],
    )
    if (calls.kind !== 'done' || calls.value.count === 0) return calls
    return this.#ask(
      'DELETE FROM waybill.call_piece p WHERE NOT EXISTS (SELECT FROM waybill.call c WHERE c.call = p.call)',
      [],
    )
  }

  /** As a read: a warning says nothing about what is no promise. */
  #ask(text: string, values: readonly unknown[]): Promise<Answer<Rows>> {
    return this.#connection.ask({ text, values, isRead: true })
  }
}
