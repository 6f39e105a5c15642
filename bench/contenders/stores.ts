/** Other stores, which take part if they can be installed. */
import { installPeers } from '../peers.js'
import type { ContenderName } from './by-name.js'
import { peer, PeerMissing } from './peer.js'
import { loadedSqlite } from './sqlite.js'

const loads = {
  sqlite: loadedSqlite,
  lmdb: () => peer('lmdb'),
  leveldb: () => peer('classic-level'),
} as const

export interface Stores {
  readonly installed: readonly ContenderName[]
  /** Sentences about missing ones. */
  readonly missing: readonly string[]
}

export async function installedStores(): Promise<Stores> {
  const trouble = await installPeers('stores')
  const installed: ContenderName[] = []
  const missing: string[] = trouble === undefined ? [] : [trouble]
  for (const [name, load] of Object.entries(loads)) {
    try {
      load()
      installed.push(name as ContenderName)
    } catch (error) {
      if (!(error instanceof PeerMissing)) throw error
      missing.push(`${error.message}; it was not measured.`)
    }
  }
  return { installed, missing }
}
