/** Makes a store, and queues in it: what `waybill store init` does.
 * Invariant: nothing that is there is changed; to run it again is harmless. */
import type { Clock } from '../../base/clock.js'
import { WaybillError } from '../../errors.js'
import { rowsOf, type PgConnection } from './pg-connection.js'
import { PgStore } from './pg-store.js'
import { callsText, otherSchemaReason, schemaText, schemaVersion } from './schema.js'
import { refusalError } from '../store.js'
import type { StorePlace } from '../store-url.js'

export interface Made {
  readonly schema: boolean
  readonly queue: boolean
}

/** @throws WaybillError STORE_UNREACHABLE, NOT_A_QUEUE, DISK_FAILED */
export async function initStore(
  place: StorePlace,
  queue: { readonly name: string; readonly quotaBytes: number | undefined } | undefined,
  clock: Clock,
): Promise<Made> {
  const connected = await new PgStore(place, clock).connectAny(undefined)
  if (connected.kind === 'unknown') throw connected.error
  if (connected.kind === 'refused') throw refusalError(connected.refusal)
  const { connection } = connected.value
  try {
    const schema = await makeSchema(place, connection)
    return { schema, queue: queue !== undefined && (await makeQueue(connection, queue)) }
  } finally {
    connection.close()
  }
}

async function makeSchema(place: StorePlace, connection: PgConnection): Promise<boolean> {
  // Until the connection ends: a second init that runs at once finds what the first has made.
  await rowsOf(connection, { text: `SELECT pg_advisory_lock(hashtext('waybill.schema'))` })
  const { rows } = await rowsOf(connection, { text: "SELECT to_regclass('waybill.schema')" })
  if (rows[0]?.[0] === null) {
    await rowsOf(connection, { text: `BEGIN; ${schemaText}; COMMIT` })
    return true
  }
  const { rows: versions } = await rowsOf(connection, { text: 'SELECT version FROM waybill.schema' })
  if (versions[0]?.[0] !== schemaVersion)
    throw new WaybillError('NOT_A_QUEUE', otherSchemaReason(Number(versions[0]?.[0])), {
      directory: place.name,
    })
  // Of a store that an earlier version has made.
  const calls = await rowsOf(connection, { text: "SELECT to_regclass('waybill.call_piece')" })
  if (calls.rows[0]?.[0] === null) await rowsOf(connection, { text: `BEGIN; ${callsText}; COMMIT` })
  return false
}

async function makeQueue(
  connection: PgConnection,
  { name, quotaBytes }: { readonly name: string; readonly quotaBytes: number | undefined },
): Promise<boolean> {
  const text =
    'WITH made AS (INSERT INTO waybill.queue (name) VALUES ($1) ON CONFLICT DO NOTHING RETURNING queue),' +
    ' fences AS (INSERT INTO waybill.fence (queue, part) SELECT queue, part FROM made, (VALUES (0), (1)) p (part)),' +
    ' beats AS (INSERT INTO waybill.beat (queue) SELECT queue FROM made)' +
    ' INSERT INTO waybill.changed (queue) SELECT queue FROM made'
  const { count } = await rowsOf(connection, { text, values: [name] })
  if (quotaBytes !== undefined)
    await rowsOf(connection, {
      text: 'UPDATE waybill.queue SET quota = $2 WHERE name = $1',
      values: [name, quotaBytes],
    })
  return count === 1
}
