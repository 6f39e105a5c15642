/** better-sqlite3: write-ahead log, synchronous=FULL, one transaction for all that wait. It blocks
 * the event loop while it syncs. */
import { join } from 'node:path'
import { batching } from './batching.js'
import type { ContenderOptions, Store } from './contender.js'
import { heldDelivery, recordPayloads } from './payloads.js'
import { peer, PeerMissing } from './peer.js'

interface Statement {
  run(...values: unknown[]): unknown
}
interface Database {
  pragma(text: string): unknown
  exec(text: string): unknown
  prepare(text: string): Statement
  close(): void
}

type Opener = new (path: string) => Database

/** Its binary is loaded with the first database. @throws PeerMissing, also when that was compiled
 * for another Node */
export function loadedSqlite(): Opener {
  const Sqlite = peer<Opener>('better-sqlite3')
  try {
    new Sqlite(':memory:').close()
  } catch (error) {
    throw new PeerMissing(`better-sqlite3 was not compiled for Node ${process.version}`, { cause: error })
  }
  return Sqlite
}

export async function sqlite(options: ContenderOptions): Promise<Store> {
  const Sqlite = loadedSqlite()
  const database = new Sqlite(join(options.directory, 'messages.sqlite'))
  database.pragma('journal_mode = WAL')
  database.pragma('synchronous = FULL')
  database.exec('CREATE TABLE messages (id INTEGER PRIMARY KEY, envelope BLOB NOT NULL, data BLOB NOT NULL)')
  const { data, envelope } = recordPayloads(options)
  const begin = database.prepare('BEGIN')
  const commit = database.prepare('COMMIT')
  const insert = database.prepare('INSERT INTO messages VALUES (?, ?, ?)')
  const remove = database.prepare('DELETE FROM messages WHERE id = ?')
  return batching(
    ({ begun, ended }) => {
      begin.run()
      for (const id of begun) insert.run(id, envelope, data)
      for (const id of ended) remove.run(id)
      commit.run()
    },
    () => database.close(),
    heldDelivery(options),
  )
}
