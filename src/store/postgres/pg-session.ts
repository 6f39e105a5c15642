/** The questions of store.ts as SQL.
 * Invariant: a change is one statement, so one transaction and one round trip, and holds the
 * fence row FOR SHARE. A claim updates that row: of a change and a claim the second waits for
 * the first one's transaction, its wait for the standby included, and then sees the newest row.
 * FOR KEY SHARE would not conflict; an advisory lock would be taken under a snapshot that is
 * older than the lock. */
import { WaybillError } from '../../errors.js'
import type { PgConnection, Question, Rows } from './pg-connection.js'
import { writeAll } from './pg-write.js'
import { safetySettings } from '../replication-safety.js'
import {
  done,
  fenced,
  refused,
  split,
  type Answer,
  type Claimant,
  type Content,
  type Extent,
  type Fence,
  type FileRow,
  type FoundFile,
  type Part,
  type QueueRow,
  type SafetyFacts,
  type Session,
  type Standing,
  type Write,
} from '../store.js'

/** What a connection of this life is called. */
export const tagOf = (nonce: string | undefined): string =>
  nonce === undefined ? 'waybill' : `waybill ${nonce}`

/** Not of a copy of the store in another database of this server, whose lives have the same names:
 *    1. A backup is restored beside the store, to look into it, and a node is started there.
 *    2. It claims the queue, and ends the connections of the life that it finds in it.
 *    3. They are those of the node that runs on the store itself. */
const ofDatabase = 'datname = current_database()'

/** Unlinked files that are removed in one question. Each that is locked meanwhile may take 200 ms,
 * together less than a deadline. */
const reapedMax = 16

/** Unlinked files whose tables somebody has locked: a backup holds all tables for hours. To wait
 * for each would take longer than a deadline:
 *    1. A backup of the database locks every table, and 30 segments are unlinked.
 *    2. The owner waits 200 ms for each of them, and does not beat meanwhile.
 *    3. Another node takes the queue of an owner that lives, and mail goes out twice. */
const heldFiles =
  'SELECT coalesce(array_agg(file), ARRAY[]::bigint[]) AS files FROM waybill.file' +
  ' WHERE queue = $1 AND name IS NULL AND has_table AND file <> ALL ($3::bigint[])' +
  " AND to_regclass(format('waybill.s%s', file)) IN (SELECT relation FROM pg_locks WHERE relation IS NOT NULL)"

export class PgSession implements Session {
  readonly timeline: number
  readonly #connection: PgConnection

  constructor(connection: PgConnection, timeline: number) {
    this.#connection = connection
    this.timeline = timeline
  }

  queueNamed(name: string): Promise<Answer<QueueRow | undefined>> {
    const text = `${queueColumns} WHERE name = $1`
    return this.#read(text, [name], ({ rows: [row] }) => row && queueRow(row))
  }

  queues(): Promise<Answer<readonly QueueRow[]>> {
    return this.#read(`${queueColumns} ORDER BY name`, [], ({ rows }) => rows.map(queueRow))
  }

  standing(queue: number): Promise<Answer<Standing>> {
    const text =
      'SELECT epoch, nonce, node, host(address), beat, EXISTS (SELECT FROM pg_stat_activity' +
      ` WHERE application_name = 'waybill ' || nonce AND ${ofDatabase}) FROM waybill.fence JOIN waybill.beat USING (queue)` +
      ' WHERE queue = $1 AND part = 0'
    return this.#read(text, [queue], ({ rows: [row = []] }) => ({
      epoch: Number(row[0]),
      nonce: textOf(row[1]),
      node: textOf(row[2]),
      address: textOf(row[3]),
      beat: Number(row[4]),
      isConnected: row[5] === true,
    }))
  }

  present(node: string): Promise<Answer<void>> {
    const text =
      'INSERT INTO waybill.member (node) VALUES ($1) ON CONFLICT (node) DO UPDATE SET beat = waybill.member.beat + 1'
    return this.#change({ text, values: [node] }, nothing)
  }

  expel(nonce: string): Promise<Answer<void>> {
    const text = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 AND ${ofDatabase}`
    return this.#read(text, [tagOf(nonce)], nothing)
  }

  async claim(fence: Fence, { nonce, node }: Claimant, isHome: boolean): Promise<Answer<number>> {
    const text =
      'WITH home AS (UPDATE waybill.queue SET home = $4 WHERE queue = $1 AND home IS NULL AND $5)' +
      ' UPDATE waybill.fence SET epoch = epoch + 1, nonce = $3, node = $4, address = inet_client_addr()' +
      ' WHERE queue = $1 AND epoch = $2 RETURNING epoch'
    const values = [fence.queue, fence.epoch, nonce, node, isHome]
    return bothParts(await this.#connection.ask({ text, values }))
  }

  async resume(queue: number, nonce: string): Promise<Answer<number>> {
    const text =
      'UPDATE waybill.fence SET epoch = epoch + 1, address = inet_client_addr()' +
      ' WHERE queue = $1 AND nonce = $2 RETURNING epoch'
    return bothParts(await this.#connection.ask({ text, values: [queue, nonce] }))
  }

  beat(queue: number, nonce: string): Promise<Answer<void>> {
    const text =
      'UPDATE waybill.beat SET beat = beat + 1 WHERE queue = $1 AND EXISTS' +
      ' (SELECT FROM waybill.fence WHERE queue = $1 AND part = 0 AND nonce = $2)'
    return this.#one({ text, values: [queue, nonce] }, 1)
  }

  write(fence: Fence, part: Part, writes: readonly Write[]): Promise<Answer<readonly number[]>> {
    return writeAll(this.#connection, fence, part, writes)
  }

  holds(queue: number, { file, hasTable }: FileRow, { at, upto }: Extent): Promise<Answer<boolean>> {
    const text = hasTable
      ? `SELECT upto FROM waybill.s${file} WHERE at = $1`
      : `SELECT upto FROM waybill.extent WHERE at = $1 AND queue = ${queue} AND file = ${file}`
    return this.#read(text, [at], ({ rows: [row] }) => row !== undefined && Number(row[0]) === upto)
  }

  lastChange(queue: number): Promise<Answer<number>> {
    const text = 'SELECT number FROM waybill.changed WHERE queue = $1'
    return this.#read(text, [queue], ({ rows: [row = []] }) => Number(row[0]))
  }

  async read(
    queue: number,
    { file, hasTable }: FileRow,
    from: number,
    upto: number,
  ): Promise<Answer<Content>> {
    const table = hasTable ? `waybill.s${file}` : 'waybill.extent'
    const key = hasTable ? '' : `queue = ${queue} AND file = ${file} AND `
    const all = key === '' ? '' : `WHERE ${key.slice(0, -5)}`
    const length = `greatest(length, (SELECT upto FROM ${table} ${all} ORDER BY at DESC LIMIT 1))`
    const text =
      `SELECT NULL::bigint, ${length}, NULL::bytea FROM waybill.file WHERE queue = ${queue} AND file = ${file}` +
      ` UNION ALL SELECT greatest(at, $1::bigint), least(upto, $2::bigint), substring(bytes from` +
      ` (greatest($1 - at, 0) + 1)::int for least($2 - greatest(at, $1), 2147483647)::int) FROM ${table}` +
      ` WHERE ${key} at < $2 AND upto > $1` +
      ` AND at >= coalesce((SELECT max(at) FROM ${table} WHERE ${key} at <= $1), 0)`
    const answer = await this.#connection.ask({ text, values: [from, upto], isRead: true })
    if (answer.kind !== 'done') return answer
    const [head, ...extents] = [...answer.value.rows].sort((a, b) => Number(a[0] ?? -1) - Number(b[0] ?? -1))
    if (head === undefined || head[0] !== null) return refused({ kind: 'errno', errno: 'ENOENT' })
    const content = extents.map((row) => ({
      at: Number(row[0]),
      upto: Number(row[1]),
      bytes: row[2] as Buffer,
    }))
    return done({ extents: content, lengthBytes: Number(head[1]) })
  }

  async list(queue: number, directory: string): Promise<Answer<string[]>> {
    const text = 'SELECT name FROM waybill.file WHERE queue = $1 AND parent = $2 AND name IS NOT NULL'
    const names = await this.#readAll(text, [queue, directory], ({ rows }) =>
      rows.map(([name]) => String(name)),
    )
    if (names.kind !== 'done' || names.value.length > 0 || directory === '') return names
    const found = await this.find(queue, directory)
    if (found.kind !== 'done') return found
    return found.value?.isDirectory === false ? refused({ kind: 'errno', errno: 'ENOTDIR' }) : names
  }

  find(queue: number, path: string): Promise<Answer<FoundFile | undefined>> {
    const text =
      'SELECT file, has_table, is_directory, length, CASE WHEN is_directory THEN 0 ELSE' +
      ' waybill.content_end(queue, file, has_table) END FROM waybill.file' +
      ' WHERE queue = $1 AND parent = $2 AND name = $3'
    return this.#read(text, [queue, ...split(path)], ({ rows: [row] }) => {
      if (row === undefined) return undefined
      const contentEnd = Number(row[4])
      return {
        file: Number(row[0]),
        hasTable: row[1] === true,
        isDirectory: row[2] === true,
        lengthBytes: Math.max(Number(row[3]), contentEnd),
        contentEnd,
      }
    })
  }

  usedBytes(queue: number): Promise<Answer<number>> {
    return this.#readAll(usedBytes, [queue], ({ rows }) => Number(rows[0]?.[0]))
  }

  reap({ queue, epoch }: Fence, open: readonly number[]): Promise<Answer<number>> {
    const text =
      `WITH held AS (${heldFiles})` +
      ` SELECT waybill.reap($1, $2, $3::bigint[] || files, ${reapedMax}) + cardinality(files) FROM held`
    return this.#change({ text, values: [queue, epoch, open] }, ({ rows }) => Number(rows[0]?.[0]))
  }

  safety(): Promise<Answer<SafetyFacts>> {
    const settings = safetySettings.map((name) => `current_setting('${name}')`)
    const text =
      `SELECT current_setting('server_version_num')::int, ${settings.join(', ')},` +
      " pg_has_role(current_user, 'pg_read_all_stats', 'usage'), waiters.* FROM" +
      ' (SELECT count(*) FILTER (WHERE s.slot_name IS NULL),' +
      " coalesce(array_agg(r.application_name) FILTER (WHERE s.slot_name IS NOT NULL), '{}')" +
      ' FROM pg_stat_replication r LEFT JOIN pg_replication_slots s' +
      " ON s.active_pid = r.pid AND s.slot_type = 'logical' WHERE r.sync_state IN ('sync', 'quorum')) waiters"
    return this.#read(text, [], ({ rows: [row = []] }) => {
      const [standbyCount, subscribers] = row.slice(-2)
      const isVisible = row.at(-3) === true
      return {
        versionNumber: Number(row[0]),
        settings: Object.fromEntries(safetySettings.map((name, i) => [name, String(row[i + 1])])),
        standbyCount: isVisible ? Number(standbyCount) : undefined,
        subscribers: subscribers as string[],
      }
    })
  }

  close(): void {
    this.#connection.close()
  }

  async #change<T>(question: Question, value: (rows: Rows) => T): Promise<Answer<T>> {
    const answer = await this.#connection.ask(question)
    return answer.kind === 'done' ? done(value(answer.value)) : answer
  }

  #read<T>(text: string, values: readonly unknown[], value: (rows: Rows) => T): Promise<Answer<T>> {
    return this.#change({ text, values, isRead: true }, value)
  }

  /** The same for a look at all files. */
  #readAll<T>(text: string, values: readonly unknown[], value: (rows: Rows) => T): Promise<Answer<T>> {
    return this.#change({ text, values, isRead: true, isLong: true }, value)
  }

  /** So many rows, or none because of the fence. */
  async #one(question: Question, count: number): Promise<Answer<void>> {
    const answer = await this.#connection.ask(question)
    if (answer.kind !== 'done') return answer
    return answer.value.count === count ? done(undefined) : fenced
  }
}

/** All extents at once: a look for those of each file takes seconds where there are many. */
const usedBytes =
  "SELECT (SELECT coalesce(sum(pg_total_relation_size(to_regclass(format('waybill.s%s', file)))), 0)" +
  ' FROM waybill.file WHERE queue = $1 AND has_table)' +
  ' + (SELECT coalesce(sum(upto - at), 0) FROM waybill.extent WHERE queue = $1)'

const queueColumns = 'SELECT queue, name, home, quota FROM waybill.queue'

const queueRow = ([queue, name, home, quota]: readonly unknown[]): QueueRow => ({
  queue: Number(queue),
  name: String(name),
  home: textOf(home),
  quotaBytes: Number(quota),
})

const nothing = (): undefined => undefined

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

/** Both rows of the fence, or none. */
function bothParts(answer: Answer<Rows>): Answer<number> {
  if (answer.kind !== 'done') return answer
  const { rows } = answer.value
  if (rows.length === 0) return fenced
  if (rows.length === 2 && rows[0]![0] === rows[1]![0]) return done(Number(rows[0]![0]))
  const error = new WaybillError('DISK_FAILED', 'the two parts of a queue have two epochs')
  return refused({ kind: 'failed', error })
}
