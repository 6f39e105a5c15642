/** Peers are measured where they are installed, and are no dependency of this package. */

export class PeerMissing extends Error {
  override readonly name = 'PeerMissing'
}

/** The module of a peer. @throws PeerMissing when it is not installed */
export async function peer<T>(name: string): Promise<T> {
  try {
    return (await import(name)) as T
  } catch (error) {
    throw new PeerMissing(`${name} is not installed: npm install --no-save ${name}`, { cause: error })
  }
}
