/** Messages that wait in a queue's `maildrop/` and `taken/`, for a copy.
 * Invariant: they are read in the order in which a message moves, so one that moves meanwhile is
 * met at least once. In the copy all of them lie in `taken/`, of which each start asks the journal
 * whether it has them. */
import { constants } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { errnoOf, diskFailure } from '../disk/failure.js'
import {
  idOfName,
  isCompleteMode,
  maildropDirectory,
  takenDirectory,
} from '../relay/maildrop/maildrop-file.js'

export interface DroppedFile {
  readonly path: string
  readonly content: Buffer
}

/** @param queue its directory @throws WaybillError DISK_FAILED */
export async function* droppedMail(queue: string): AsyncGenerator<DroppedFile> {
  const seen = new Set<string>()
  for (const from of [maildropDirectory, takenDirectory])
    for (const name of await namesIn(join(queue, from))) {
      if (seen.has(name)) continue
      const content = await completeFile(join(queue, from, name))
      if (content === undefined) continue
      seen.add(name)
      yield { path: `${takenDirectory}/${name}`, content }
    }
}

async function namesIn(directory: string): Promise<string[]> {
  try {
    return (await readdir(directory)).filter((name) => idOfName(name) !== undefined)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return []
    throw diskFailure('list', directory, errnoOf(error), error)
  }
}

/** @returns undefined when it is not complete, has moved on, or was not left by `sendmail` */
async function completeFile(path: string): Promise<Buffer | undefined> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const stats = await file.stat()
      return stats.isFile() && isCompleteMode(stats.mode) ? await file.readFile() : undefined
    } finally {
      await file.close()
    }
  } catch (error) {
    const errno = errnoOf(error)
    if (errno !== undefined && ['ENOENT', 'EACCES', 'ELOOP', 'ENXIO'].includes(errno)) return undefined
    throw diskFailure('open', path, errno, error)
  }
}
