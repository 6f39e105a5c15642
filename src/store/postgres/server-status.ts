/** Asks each server of a store about itself, and about the standbys that follow it.
 * Invariant: each server of the URL has an entry, with a reason where it did not answer. Nothing
 * is changed.
 * Why not the primary alone: it does not know the settings of a standby. One with fsync=off
 * acknowledges commits that a power cut takes away. */
import type { Clock } from '../../base/clock.js'
import { thrownText } from '../../base/realms.js'
import { safetySettings, serverReasons } from '../replication-safety.js'
import type { StorePlace } from '../store-url.js'
import { hostOf, PgConnection, rowsOf } from './pg-connection.js'
import { tagOf } from './pg-session.js'

export interface FollowerStatus {
  /** As `synchronous_standby_names` knows it. */
  readonly name: string
  readonly address: string | undefined
  /** In PostgreSQL's words: `quorum`, `sync`, `potential` or `async`. */
  readonly sync: string
  /** The same: `streaming`, `catchup`, `startup`, `backup`, `stopping`. */
  readonly state: string
  /** What is not on its disk yet; undefined: it has not said. */
  readonly behindBytes: number | undefined
}

export interface ServerStatus {
  /** As in the URL. */
  readonly server: string
  /** Undefined: it did not answer. */
  readonly role: 'primary' | 'standby' | undefined
  /** Why it did not answer. */
  readonly reason: string | undefined
  /** Why what it acknowledges may be lost with it; empty: nothing is known. */
  readonly unsafe: readonly string[]
  /** That stream from it; empty also where this role may not see them. */
  readonly followers: readonly FollowerStatus[]
}

/** In the order of the URL. */
export const serverStatus = (
  { urls, deadlineMs }: Pick<StorePlace, 'urls' | 'deadlineMs'>,
  clock: Clock,
): Promise<ServerStatus[]> =>
  Promise.all(
    urls.map(async (url) => {
      try {
        const connection = await PgConnection.open({ url, tag: tagOf(undefined), deadlineMs, clock })
        try {
          return { server: hostOf(url), ...(await told(connection)) }
        } finally {
          connection.close()
        }
      } catch (error) {
        const reason = thrownText(error)
        return { server: hostOf(url), role: undefined, reason, unsafe: [], followers: [] }
      }
    }),
  )

/** @throws WaybillError what the server refuses with, or did not answer */
async function told(connection: PgConnection): Promise<Omit<ServerStatus, 'server'>> {
  const settings = safetySettings.map((name) => `current_setting('${name}')`)
  const facts = `SELECT pg_is_in_recovery(), current_setting('server_version_num')::int, ${settings.join(', ')}`
  const [isStandby, versionNumber, ...values] = (await rowsOf(connection, { text: facts, isRead: true }))
    .rows[0]!
  const { rows } = await rowsOf(connection, { text: followers, isRead: true })
  return {
    role: isStandby === true ? 'standby' : 'primary',
    reason: undefined,
    unsafe: serverReasons({
      versionNumber: Number(versionNumber),
      settings: Object.fromEntries(safetySettings.map((name, i) => [name, String(values[i])])),
    }),
    followers: rows.map(([name, address, sync, state, behind]) => ({
      name: String(name),
      address: typeof address === 'string' ? address : undefined,
      sync: String(sync),
      state: String(state),
      behindBytes: behind === null ? undefined : Math.max(0, Number(behind)),
    })),
  }
}

/** To a role without pg_monitor their states are NULL. */
const followers =
  'SELECT application_name, host(client_addr), sync_state, state,' +
  ' pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn()' +
  ' ELSE pg_current_wal_lsn() END, flush_lsn)' +
  ' FROM pg_stat_replication WHERE state IS NOT NULL ORDER BY application_name, pid'
