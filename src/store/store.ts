/** The interface of a store: the questions that the driver asks of a database that many nodes
 * reach.
 * Invariant: each question is atomic and ends in one of three ways. `done`: it has happened,
 * and a quorum has it. `refused`: it has not happened. `unknown`: nobody can tell yet;
 * writer.ts finds out. A change happens only under the epoch that the queue has at that moment:
 * the fence is part of the statement itself, for whatever looks first and writes later can be
 * overtaken in between. */
import { diskFailure } from '../disk/failure.js'
import { WaybillError } from '../errors.js'

export type Answer<T> =
  | { readonly kind: 'done'; readonly value: T }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  | { readonly kind: 'unknown'; readonly error: WaybillError }

export type Refusal =
  /** The queue has another epoch, or another owner. */
  | { readonly kind: 'fenced' }
  /** As a file system would say it. */
  | { readonly kind: 'errno'; readonly errno: string }
  | { readonly kind: 'failed'; readonly error: WaybillError }

/** Content of a file from `at` on: `bytes`, then zeroes up to `upto`. Extents of a file never
 * overlap; what none covers is zeroes. */
export interface Extent {
  readonly at: number
  readonly upto: number
  readonly bytes: Buffer
}

/** One connection may change the journal, another one all else: neither waits for the other. */
export const parts = { journal: 0, names: 1 } as const
export type Part = (typeof parts)[keyof typeof parts]

/** What a change must find. */
export interface Fence {
  readonly queue: number
  readonly epoch: number
}

export interface QueueRow {
  readonly queue: number
  readonly name: string
  /** The node whose queue it is; undefined before the first one has claimed it. */
  readonly home: string | undefined
  readonly quotaBytes: number
}

export interface FileRow {
  readonly file: number
  /** Its content is a table. */
  readonly hasTable: boolean
}

/** Extents that meet a range, the first and the last cut to it. */
export interface Content {
  readonly extents: readonly Extent[]
  /** Length of the file. */
  readonly lengthBytes: number
}

export interface FoundFile extends FileRow {
  readonly isDirectory: boolean
  readonly lengthBytes: number
  /** Where its last extent ends. */
  readonly contentEnd: number
}

/** The owner of a queue, and whether it lives. */
export interface Standing {
  readonly epoch: number
  /** Of the life that owns it; undefined: nobody has yet. */
  readonly nonce: string | undefined
  readonly node: string | undefined
  readonly address: string | undefined
  readonly beat: number
  /** A connection of that life is open on this server. */
  readonly isConnected: boolean
}

export interface Claimant {
  readonly nonce: string
  readonly node: string
}

/** A change of names or lengths. Paths are split at their last `/`. */
export type Change =
  | { readonly verb: 'makeDirectory' | 'removeDirectory' | 'unlink'; readonly path: string }
  | { readonly verb: 'create'; readonly path: string; readonly hasTable: boolean }
  | { readonly verb: 'rename'; readonly path: string; readonly to: string }
  /** `truncate` cuts or extends, `lengthen` never cuts. */
  | { readonly verb: 'truncate' | 'lengthen'; readonly file: number; readonly lengthBytes: number }

/** What a part of a queue is changed by. Extents do not overlap what is there, or replace what lies
 * in [from, upto). Changes of names and lengths are numbered, so that one whose answer was lost can
 * be looked up. */
export type Write =
  | { readonly verb: 'append'; readonly file: FileRow; readonly extents: readonly Extent[] }
  | {
      readonly verb: 'overwrite'
      readonly file: FileRow
      readonly from: number
      readonly upto: number
      readonly extents: readonly Extent[]
    }
  | (Change & { readonly number: number })

/** What the server says of itself. */
export interface SafetyFacts {
  readonly versionNumber: number
  /** Settings by name; one that may not be read is missing. */
  readonly settings: Readonly<Record<string, string>>
  /** Standbys whose answer a commit may wait for; undefined: not visible to this role. */
  readonly standbyCount: number | undefined
  /** Logical subscribers whose answer a commit may wait for: they have none of it. */
  readonly subscribers: readonly string[]
}

/** One connection to the server that takes changes. Questions are answered one after the other. */
export interface Session {
  /** Of the server's history: a promotion makes it greater. */
  readonly timeline: number
  queueNamed(name: string): Promise<Answer<QueueRow | undefined>>
  queues(): Promise<Answer<readonly QueueRow[]>>
  standing(queue: number): Promise<Answer<Standing>>
  /** A commit that changes nothing of a queue: says that this node can commit. */
  present(node: string): Promise<Answer<void>>
  /** Ends the connections of a life. */
  expel(nonce: string): Promise<Answer<void>>
  /** Takes a queue whose epoch is the fence's. @returns the epoch from now on */
  claim(fence: Fence, claimant: Claimant, isHome: boolean): Promise<Answer<number>>
  /** Raises the epoch of a life that still owns its queue. @returns the epoch from now on */
  resume(queue: number, nonce: string): Promise<Answer<number>>
  beat(queue: number, nonce: string): Promise<Answer<void>>
  /** All of them, or none. Several are of a file each: appends, unlinks, and creates of what has no
   * table. @returns for each the file that it made, else 0 */
  write(fence: Fence, part: Part, writes: readonly Write[]): Promise<Answer<readonly number[]>>
  /** Is the extent there that was to be appended? */
  holds(queue: number, file: FileRow, extent: Extent): Promise<Answer<boolean>>
  /** The number of the last change. */
  lastChange(queue: number): Promise<Answer<number>>
  /** What lies in [from, upto). Refused: ENOENT, when it was unlinked and its content removed. */
  read(queue: number, file: FileRow, from: number, upto: number): Promise<Answer<Content>>
  /** Names in a directory, in any order; empty when it is not there. Refused: ENOTDIR */
  list(queue: number, directory: string): Promise<Answer<string[]>>
  find(queue: number, path: string): Promise<Answer<FoundFile | undefined>>
  /** Bytes that the queue's files take. */
  usedBytes(queue: number): Promise<Answer<number>>
  /** Removes the content of some unlinked files, except those that are open.
   * @returns how many are left that are not open */
  reap(fence: Fence, open: readonly number[]): Promise<Answer<number>>
  safety(): Promise<Answer<SafetyFacts>>
  /** Drops the connection. Questions under way end as `unknown`, and may still happen. */
  close(): void
}

export interface Store {
  /** For errors and logs, without a password. */
  readonly name: string
  /** Connects to the server that takes changes: of several that say so the one of the latest
   * timeline, and none of an earlier one than was seen before.
   * @param nonce of the life that connects; undefined: only looks */
  connect(nonce: string | undefined): Promise<Answer<Session>>
  /** A name for a life, never given before. */
  newNonce(): string
}

export const done = <T>(value: T): Answer<T> => ({ kind: 'done', value })
export const unknown = (error: WaybillError): Answer<never> => ({ kind: 'unknown', error })
export const refused = (refusal: Refusal): Answer<never> => ({ kind: 'refused', refusal })
export const fenced: Answer<never> = refused({ kind: 'fenced' })

/** What a refusal is for callers. @returns DISK_FAILED, DISK_FULL */
export function refusalError(refusal: Refusal, operation = 'store', path = ''): WaybillError {
  switch (refusal.kind) {
    case 'errno':
      return refusal.errno === noRoom
        ? storeFull(operation, path)
        : diskFailure(operation, path, refusal.errno)
    case 'failed':
      return refusal.error
    case 'fenced':
      return diskFailure(operation, path, 'EPERM')
  }
}

const noRoom = 'ENOSPC'

/** The code is that of a directory's disk. */
function storeFull(operation: string, path: string): WaybillError {
  const { code } = diskFailure(operation, path, noRoom)
  const place = { operation, errno: noRoom, ...(path === '' ? undefined : { path }) }
  return new WaybillError(code, "no room on a disk of the store's server", place)
}

/** Why there is no answer to go on with; undefined: there is one. */
export function errorIn(answer: Answer<unknown>): WaybillError | undefined {
  if (answer.kind === 'done') return undefined
  return answer.kind === 'unknown' ? answer.error : refusalError(answer.refusal)
}

/** A path as a directory and a name in it. */
export function split(path: string): readonly [parent: string, name: string] {
  const at = path.lastIndexOf('/')
  return at < 0 ? ['', path] : [path.slice(0, at), path.slice(at + 1)]
}
