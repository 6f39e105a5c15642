/** Stores are measured where they are installed, and are no dependency of this package. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { peerDirectory } from '../peers.js'

export class PeerMissing extends Error {
  override readonly name = 'PeerMissing'
}

/** The module of a store. @throws PeerMissing when it is not installed, or was not compiled */
export function peer<T>(name: string): T {
  try {
    return createRequire(join(peerDirectory('stores'), 'package.json'))(name) as T
  } catch (error) {
    throw new PeerMissing(`${name} is not installed in bench/peers/stores`, { cause: error })
  }
}
