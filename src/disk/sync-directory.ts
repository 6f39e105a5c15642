/** Makes the names in a directory durable, where no disk of a queue is open. */
import { open } from 'node:fs/promises'

/** @param inTurn begins the sync when it is its turn; default: at once
 * @throws the system's error */
export async function syncDirectory(
  path: string,
  inTurn: (sync: () => Promise<void>) => Promise<void> = (sync) => sync(),
): Promise<void> {
  const directory = await open(path, 'r')
  try {
    await inTurn(() => directory.sync())
  } finally {
    await directory.close()
  }
}
