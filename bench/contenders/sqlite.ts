/** better-sqlite3: write-ahead log, synchronous=FULL, one transaction for all that wait. It blocks
 * the event loop while it syncs. */
import { join } from 'node:path'
import { batching } from './batching.js'
import type { ContenderOptions, Store } from './contender.js'
import { heldDelivery, recordPayloads } from './payloads.js'
import { peer } from './peer.js'

interface Statement {
  run(...values: unknown[]): unknown
}
interface Database {
  pragma(text: string): unknown
  exec(text: string): unknown
  prepare(text: string): Statement
  close(): void
}

export async function sqlite(options: ContenderOptions): Promise<Store> {
  const Sqlite = peer<new (path: string) => Database>('better-sqlite3')
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
