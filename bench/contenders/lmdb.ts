/** lmdb: its own batching of asynchronous writes into transactions, each synced before its
 * promises settle. */
import { join } from 'node:path'
import { batching } from './batching.js'
import type { ContenderOptions, Store } from './contender.js'
import { heldDelivery, recordPayloads } from './payloads.js'
import { peer } from './peer.js'

interface Database {
  put(key: number, value: Buffer): Promise<boolean>
  remove(key: number): Promise<boolean>
  close(): Promise<void>
}

interface LmdbModule {
  open(options: {
    readonly path: string
    readonly encoding: 'binary'
    readonly overlappingSync: boolean
    readonly keyEncoding: 'uint32'
  }): Database
}

export async function lmdb(options: ContenderOptions): Promise<Store> {
  const module = peer<LmdbModule>('lmdb')
  const path = join(options.directory, 'messages.mdb')
  // Without overlapping syncs a promise settles when its transaction is on the disk.
  const database = module.open({ path, encoding: 'binary', keyEncoding: 'uint32', overlappingSync: false })
  const { data, envelope } = recordPayloads(options)
  const value = Buffer.concat([envelope, data])
  return batching(
    async ({ begun, ended }) => {
      const writes = begun.map((id) => database.put(id, value))
      for (const id of ended) writes.push(database.remove(id))
      await Promise.all(writes)
    },
    () => database.close(),
    heldDelivery(options),
  )
}
