/** The disk as an argument. The engine touches a file system through this alone: the same one runs on Node's and on the simulated one.
 *
 * What the engine relies on, and a driver must give (test/disk/contract.ts checks each):
 * 1. A call that resolves has happened for every later call of this process; a call that rejects may have happened in part.
 * 2. Written bytes survive a crash only after a `sync` of that file that STARTED after the write resolved, or when the
 *    file was opened `synced`. A name (create, rename, unlink) survives only after `syncDirectory` of its directory.
 * 3. `write` writes everything or rejects. A short count of a synced write is a failure; of another one the driver goes on with the
 *    rest once, which tells why, and nothing is durable before a sync says so. No driver repeats a write or a sync.
 *    DISK_FULL says that there was no room and nothing else is wrong; what comes from a sync, and from a write to a
 *    `synced` file, is DISK_FAILED even if the system says ENOSPC. `place.errno` has the system's code: a name that is
 *    not there is DISK_FAILED with ENOENT, one that must not be there EEXIST.
 * 4. Calls on one file may be under way together; the engine orders those that matter by awaiting them.
 * 5. A call that needs a descriptor and finds none has done nothing, and says so: `place.errno` is EMFILE or ENFILE, and `place.operation`
 *    is `open`, of a directory that was to be synced too, or `list`. */
import type { WaybillError } from '../errors.js'

/** `create`: must not exist. `synced`: exists, and a write resolves when its bytes are durable (O_DSYNC). */
export type OpenMode = 'read' | 'write' | 'create' | 'synced'

export interface DiskFile {
  /** Fills `into` from `position`. Resolves with the bytes read, fewer only at the end of the file. */
  read(into: Buffer, position: number): Promise<number>
  /** Writes all of `bytes` at `position`; the buffer must stay untouched until it settles. @throws WaybillError DISK_FAILED, DISK_FULL */
  write(bytes: Buffer, position: number): Promise<void>
  /** Makes this file's bytes and length durable (fdatasync). After a failure nothing is known: end this life. */
  sync(): Promise<void>
  /** Cuts or zero-extends to `lengthBytes`. */
  truncate(lengthBytes: number): Promise<void>
  /** Length in bytes. */
  size(): Promise<number>
  /** Drops the descriptor; durable is only what was synced. */
  close(): Promise<void>
}

export interface DiskSpace {
  /** Bytes that this process may still allocate. */
  readonly freeBytes: number
  /** Files that may still be created; Infinity where the file system does not say. */
  readonly freeFiles: number
}

export interface FileStatus {
  readonly lengthBytes: number
  /** Names that lead to it. */
  readonly nameCount: number
}

/** What is worth doing on a disk. Of a file system both are true. */
export interface DiskTraits {
  /** A new segment is filled with zeroes, so that a write into it needs no room and changes no
   * metadata. Else a full disk is met by a synced write, which ends the life. */
  readonly fillsAhead: boolean
  /** A segment that nobody needs becomes a spare. Else it is unlinked, and spares are made anew. */
  readonly reuses: boolean
}

export const fileSystemTraits: DiskTraits = { fillsAhead: true, reuses: true }

export interface LockReport {
  /** Sentences for the operator: what about this file system cannot be relied on. */
  readonly warnings: readonly string[]
  /** What is locked, and by what: a phrase for the operator. */
  readonly kind?: string
  /** Is it proven now that this process is the owner? Asked before each attempt. Absent: always. */
  readonly isProven?: () => boolean
  /** Calls `tell` once, when ownership is proven again. Asked for while it is not. */
  readonly onProven?: (tell: () => void) => void
}

/** Paths are relative to the queue's directory, with `/` between names; `''` is the directory itself. */
export interface Disk {
  /** Default: those of a file system. */
  readonly traits?: DiskTraits
  /** Names in a directory, sorted; empty when there is no such directory. */
  list(directory: string): Promise<string[]>
  /** Creates the directory if it is not there; its parent must be. */
  makeDirectory(path: string): Promise<void>
  removeDirectory(path: string): Promise<void>
  open(path: string, mode: OpenMode): Promise<DiskFile>
  /** Moves a file; a file of the new name is replaced. */
  rename(from: string, to: string): Promise<void>
  unlink(path: string): Promise<void>
  syncDirectory(path: string): Promise<void>
  /** Of a file, without opening it. */
  stat(path: string): Promise<FileStatus>
  space(): Promise<DiskSpace>
  /** One owner at a time, until `abandon` or the death of the process.
   * @param onLost this process is the owner no more, and its life ends. Called at most once; a file
   * system never does
   * @throws WaybillError QUEUE_LOCKED, LOCK_UNAVAILABLE, NETWORK_FILE_SYSTEM */
  lock(path: string, onLost?: (error: WaybillError) => void): Promise<LockReport>
  /** The end of this life: drops all descriptors and the lock, writes nothing; calls under way reject or never settle.
   * They may still happen, and the lock is held until they have: the next owner waits for that or is told QUEUE_LOCKED. */
  abandon(): void
}
