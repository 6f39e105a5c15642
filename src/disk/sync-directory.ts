/** Makes the names in a directory durable, where no disk of a queue is open. */
import { open } from 'node:fs/promises'

/** @throws the system's error */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}
