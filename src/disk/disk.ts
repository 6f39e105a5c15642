/** The disk as an argument: the same engine runs on Node's file system and on a simulated one.
 * Invariants, each checked by test/disk/contract.ts:
 * 1. A resolved call is visible to every later call; a rejected one may have happened in part.
 * 2. Bytes survive a crash only after a `sync` that STARTED after the write resolved, or in a file
 *    opened `synced`; names survive only after `syncDirectory`.
 * 3. `write` writes everything or rejects. No driver repeats a write or a sync.
 * 4. DISK_FULL means that nothing but room was missing; a failed sync is always DISK_FAILED.
 * 5. A call that found no free descriptor (EMFILE, ENFILE) has done nothing.
 * 6. Calls on one file may overlap; the engine awaits those whose order matters. README.md in this
 *    folder has the details. */
import type { WaybillError } from '../errors.js'

/** `create`: must not exist. `synced`: exists, and a write resolves when its bytes are
 * durable (O_DSYNC). */
export type OpenMode = 'read' | 'write' | 'create' | 'synced'

export interface DiskFile {
  /** Fills `into` from `position`. Resolves with the bytes read, fewer only at the end of the
   * file. */
  read(into: Buffer, position: number): Promise<number>
  /** Writes all of `bytes` at `position`; the buffer must stay untouched until it settles.
   * @throws WaybillError DISK_FAILED, DISK_FULL */
  write(bytes: Buffer, position: number): Promise<void>
  /** Makes this file's bytes and length durable (fdatasync). After a failure nothing is known:
   * end this life. */
  sync(): Promise<void>
  /** Cuts or zero-extends to `lengthBytes`. */
  truncate(lengthBytes: number): Promise<void>
  /** Length in bytes. */
  size(): Promise<number>
  /** Closes the descriptor; only synced bytes are durable. */
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
   * metadata. Otherwise a synced write can meet a full disk, which ends the life. */
  readonly fillsAhead: boolean
  /** Garbage segments become spares. Otherwise they are unlinked, and spares are made anew. */
  readonly reuses: boolean
}

export const fileSystemTraits: DiskTraits = { fillsAhead: true, reuses: true }

export interface LockReport {
  /** Warnings for the operator about this file system. */
  readonly warnings: readonly string[]
  /** What is locked, and by what: a phrase for the operator. */
  readonly kind?: string
  /** Is this process certainly the owner now? Asked before each attempt. Absent: always. */
  readonly isProven?: () => boolean
  /** Calls `tell` once, when ownership is proven again. Called only while it is not. */
  readonly onProven?: (tell: () => void) => void
}

/** Paths are relative to the queue's directory, with `/` between names; `''` is the
 * directory itself. */
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
  /** The status of a file, without opening it. */
  stat(path: string): Promise<FileStatus>
  space(): Promise<DiskSpace>
  /** One owner at a time, until `abandon` or the death of the process.
   * @param onLost ownership is lost, and the life ends. Called at most once; never by a file system
   * @throws WaybillError QUEUE_LOCKED, LOCK_UNAVAILABLE, NETWORK_FILE_SYSTEM */
  lock(path: string, onLost?: (error: WaybillError) => void): Promise<LockReport>
  /** Ends this life: closes all descriptors and frees the lock, writes nothing. Calls under way
   * reject or never settle, but may still happen. The lock is held until they have; until then the
   * next owner waits, or gets QUEUE_LOCKED. */
  abandon(): void
}
