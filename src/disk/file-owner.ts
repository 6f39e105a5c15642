/** The user that gets the files that root makes in a queue's directory.
 * Invariant: a process of root leaves no file that the owner of the directory cannot open.
 *   1. a program that embeds a queue is run as root, once, on the queue of another user
 *   2. the lock and the new segments belong to root
 *   3. that user's relay cannot open its queue any more
 * A process that is killed between a file's making and its giving leaves that file to root. */
import fs from 'node:fs'
import { stat } from 'node:fs/promises'
import process from 'node:process'

export interface FileOwner {
  readonly uid: number
  readonly gid: number
}

/** @returns undefined if what this process makes there is the owner's already */
export async function fileOwnerOf(directory: string): Promise<FileOwner | undefined> {
  if (process.geteuid?.() !== 0) return undefined
  const stats = await stat(directory).catch(() => undefined)
  return stats === undefined || stats.uid === 0 ? undefined : { uid: stats.uid, gid: stats.gid }
}

/** @param descriptor of what this process has just made, and not of what a name leads to:
 *   1. root makes `journal/`
 *   2. its owner puts a secret file of root in that place
 *   3. root gives it away */
export function giveTo(
  { uid, gid }: FileOwner,
  descriptor: number,
  answer: (error: NodeJS.ErrnoException | null) => void,
): void {
  fs.fchown(descriptor, uid, gid, answer)
}
