/** Turns a refused system call into an error.
 * Invariant: DISK_FULL means "nothing is lost, there was no room". An error of a sync is always
 * DISK_FAILED: a sync that reports ENOSPC has lost pages that the system now takes for clean (seen
 * on XFS and btrfs). */
import { isError } from '../base/realms.js'
import { isWaybillError, WaybillError } from '../errors.js'

const noRoom: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT'])
/** What Node's own permission model says. */
export const accessDenied = 'ERR_ACCESS_DENIED'
/** Errors that an operator can do something about. */
const reasons: Readonly<Record<string, string>> = {
  [accessDenied]: "Node's permission model (--permission) forbids it",
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOENT: 'there is no such file or directory',
  ENOTDIR: 'this is no directory',
  EISDIR: 'this is a directory',
  // What the system says of a pipe, and of a socket.
  ESPIPE: 'this is no file',
  ENXIO: 'this is no file',
  EEXIST: 'something else has this name',
  // Also our own word: `space` finds another directory under the name.
  ESTALE: 'the directory of the queue was moved or replaced',
  EMFILE: 'this process has too many files open',
  ENFILE: 'the machine has too many files open',
  EFBIG: 'the file would be larger than this process may write (`ulimit -f`)',
  ENOMEM: 'the system has no memory for it',
}
/** Calls that need an inode, or room in a directory. */
const makesName: ReadonlySet<string> = new Set(['open', 'makeDirectory', 'rename'])
const syncs: ReadonlySet<string> = new Set(['sync', 'syncDirectory', 'write synced'])

/** ENOSPC says the same of bytes and of inodes. */
function fullReason(operation: string, errno: string): string {
  if (errno === 'EDQUOT') return 'the quota on the disk is used up'
  return makesName.has(operation)
    ? 'no room on the disk, or no free inode, for another file'
    : 'no room on the disk'
}

/** @param errno the system's code, or `undefined` for a short count
 * @param directory above `path`: an operator with two queues sees which one is meant */
export function diskFailure(
  operation: string,
  path: string,
  errno: string | undefined,
  cause?: unknown,
  directory?: string,
): WaybillError {
  const full = errno !== undefined && noRoom.has(errno) && !syncs.has(operation)
  const place = {
    ...(directory === undefined ? undefined : { directory }),
    path,
    operation,
    ...(errno === undefined ? undefined : { errno }),
  }
  const reason = full
    ? fullReason(operation, errno)
    : errno === undefined
      ? 'short count'
      : (reasons[errno] ?? 'the disk refused a call')
  return new WaybillError(full ? 'DISK_FULL' : 'DISK_FAILED', reason, place, cause)
}

/** For a removal that a later one makes up for, where a disk that fails is the end of this life.
 * @throws every other error */
export function ignoreFullDisk(error: unknown): void {
  if (!isWaybillError(error, 'DISK_FULL')) throw error
}

/** For a removal that nothing waits for, and that the next life tries again.
 * @throws errors that are not the disk's */
export function ignoreRefusal(error: unknown): void {
  if (!isWaybillError(error, 'DISK_FAILED')) ignoreFullDisk(error)
}

/** Was there no descriptor for a call? Then it has done nothing. */
export const isOutOfDescriptors = (error: unknown): error is WaybillError =>
  isWaybillError(error, 'DISK_FAILED') &&
  (error.place.errno === 'EMFILE' || error.place.errno === 'ENFILE') &&
  (error.place.operation === 'open' || error.place.operation === 'list')

/** The system's code of a refused call; undefined for other errors, such as Node's about
 * arguments. */
export const errnoOf = (error: unknown): string | undefined =>
  isError(error) && 'errno' in error && 'code' in error ? String(error.code) : undefined

/** The error of a call that outlives its disk. */
export const abandonedFailure = (operation: string, path: string): WaybillError =>
  new WaybillError('QUEUE_CRASHED', 'this disk was abandoned', { path, operation })
