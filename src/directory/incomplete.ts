/** Makes directories that a queue lacks: copies leave out empty ones (`rsync -m`).
 *    1. a copy without spool/ is opened
 *    2. mail is settled
 *    3. no checkpoint can be made
 *    4. each restart leaves one more segment
 * Invariant: the file `incomplete` exists while a directory made here may be in the page cache
 * only. A life that starts with this file removes empty directories and makes them again:
 *    1. spool/ is made; the sync of the queue's directory fails: the name is called clean
 *    2. a restart in the same boot sees spool/
 *    3. mail is settled
 *    4. power loss: there is no spool/
 * After a power loss the file is not needed: every visible name is on the disk. */
import type { Disk } from '../disk/disk.js'
import { removeEmptyDirectory } from '../disk/names.js'
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

/** Makes `lanes` and `spool` if they are missing. lane-directories.ts makes the lanes' directories
 * and ends the completion. Missing files are reported by their readers. */
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
