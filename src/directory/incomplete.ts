/** A queue that lacks directories gets them: an empty one may not have come along with a copy, as `rsync -m` leaves it out, and so does an
 * archive of files.
 *    // 1. a copy without spool/  2. mail settled  3. no checkpoint can be taken  4. restart, and so on, a segment each time
 * Invariant: while a directory that was made so may be in the page cache only, the file `incomplete` is there, and who starts with it takes
 * away what is empty and makes it anew, for no later sync brings a name to the disk that the kernel calls clean:
 *    // 1. spool/ made, sync of the queue's directory fails  2. restart in the same boot sees it  3. mail settled  4. power loss: no spool
 * After a power loss all that is seen is on the disk, so that nobody needs to find the file then, nor to miss it. */
import type { Disk } from '../disk/disk.js'
import { removeEmptyDirectory } from '../disk/remove-empty-directory.js'
import { lanesDirectory, spoolDirectory } from './paths.js'

const incompleteName = 'incomplete'
const directories = [lanesDirectory, spoolDirectory]

/** From before the first directory is made until all their names are durable. */
export class Completion {
  readonly #disk: Disk
  #isUnderWay: boolean

  /** @param isUnderWay whether a life before began with it */
  constructor(disk: Disk, isUnderWay: boolean) {
    this.#disk = disk
    this.#isUnderWay = isUnderWay
  }

  get isUnderWay(): boolean {
    return this.#isUnderWay
  }

  async begin(): Promise<void> {
    if (this.#isUnderWay) return
    this.#isUnderWay = true
    const file = await this.#disk.open(incompleteName, 'create')
    await file.close()
  }

  async end(): Promise<void> {
    if (this.#isUnderWay) await this.#disk.unlink(incompleteName)
    this.#isUnderWay = false
  }
}

/** Makes `lanes` and `spool` where they are not there; lanes are for who knows which there are, and so is the completion's end.
 * One in which something is missing is not made good by this: who reads that says so. */
export async function completeQueue(disk: Disk): Promise<Completion> {
  let names = await disk.list('')
  const completion = new Completion(disk, names.includes(incompleteName))
  if (completion.isUnderWay) {
    await removeWhatIsEmpty(disk, names)
    names = await disk.list('')
  }
  const missing = directories.filter((directory) => !names.includes(directory))
  if (missing.length === 0) return completion
  await completion.begin()
  for (const directory of missing) await disk.makeDirectory(directory)
  await disk.syncDirectory('')
  return completion
}

/** @param there names in the queue's directory */
async function removeWhatIsEmpty(disk: Disk, there: readonly string[]): Promise<void> {
  const remove = async (path: string): Promise<void> => {
    if ((await disk.list(path)).length === 0) await removeEmptyDirectory(disk, path)
  }
  for (const lane of await disk.list(lanesDirectory)) {
    const directory = `${lanesDirectory}/${lane}`
    for (const part of await disk.list(directory)) await remove(`${directory}/${part}`)
    await remove(directory)
  }
  for (const directory of directories) if (there.includes(directory)) await remove(directory)
}
