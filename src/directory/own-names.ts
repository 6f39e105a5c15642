/** A disk that lists only the queue's names, so that files of other programs change nothing.
 * Such files (`.DS_Store`, `lost+found`, a backup's notes) stay where they are.
 * Invariant: no part of the engine, and no inspection, sees another name below the queue's
 * directory. A directory in which other files are left counts as removed. */
import type { Disk } from '../disk/disk.js'
import { forwarded } from '../disk/forwarded-disk.js'
import { isWaybillError } from '../errors.js'
import { journalDirectory } from '../log/journal.js'
import { segmentIndexOf } from '../log/segment.js'
import { isSpareName } from '../log/segment-pool.js'
import { isLimitName } from '../log/write-limit.js'
import { laneNumberOf, lanesDirectory, sideLogNames, spoolDirectory, spoolNumberOf } from './paths.js'

type IsOwn = (name: string) => boolean

const isSegmentName: IsOwn = (name) => segmentIndexOf(name) !== undefined
const lanePart = /^(?:envelopes|data)$/

const ownNames: ReadonlyMap<string, IsOwn> = new Map([
  [journalDirectory, (name: string) => isSegmentName(name) || isSpareName(name) || isLimitName(name)],
  [lanesDirectory, (name: string) => laneNumberOf(name) !== undefined],
  ...sideLogNames.map((name) => [name, isSegmentName] as const),
  [spoolDirectory, (name: string) => spoolNumberOf(name) !== undefined],
])

/** Undefined for a directory in which all names count. */
function namesOf(directory: string): IsOwn | undefined {
  const [first = '', lane, part, ...others] = directory.split('/')
  if (lane === undefined) return ownNames.get(first)
  if (first !== lanesDirectory || others.length > 0) return undefined
  return part === undefined ? (name) => lanePart.test(name) : isSegmentName
}

const listOwn = async (disk: Pick<Disk, 'list'>, directory: string): Promise<string[]> => {
  const names = await disk.list(directory)
  const isOwn = namesOf(directory)
  return isOwn === undefined ? names : names.filter(isOwn)
}

export function withOwnNames(disk: Disk): Disk {
  const removeDirectory = async (path: string): Promise<void> => {
    try {
      await disk.removeDirectory(path)
    } catch (error) {
      const errno = isWaybillError(error) ? error.place.errno : undefined
      if (errno !== 'ENOTEMPTY' || (await holdsFiles(disk, path))) throw error
    }
  }
  return { ...forwarded(disk), list: (directory) => listOwn(disk, directory), removeDirectory }
}

/** Is there a file of ours in it, or in a lane's two directories below it? */
async function holdsFiles(disk: Disk, path: string): Promise<boolean> {
  for (const name of await listOwn(disk, path)) {
    if (!lanePart.test(name) || (await listOwn(disk, `${path}/${name}`)).length > 0) return true
  }
  return false
}
