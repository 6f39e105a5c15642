/** Other stores that take part where they are installed. */
import type { ContenderName } from './contenders/by-name.js'
import { peer, PeerMissing } from './contenders/peer.js'

const packageOf = { sqlite: 'better-sqlite3', lmdb: 'lmdb', leveldb: 'classic-level' } as const

export interface Peers {
  readonly installed: readonly ContenderName[]
  /** Packages that are not there. */
  readonly missing: readonly string[]
}

export async function installedPeers(): Promise<Peers> {
  const installed: ContenderName[] = []
  const missing: string[] = []
  for (const [name, packageName] of Object.entries(packageOf)) {
    try {
      await peer(packageName)
      installed.push(name as ContenderName)
    } catch (error) {
      if (!(error instanceof PeerMissing)) throw error
      missing.push(packageName)
    }
  }
  return { installed, missing }
}
