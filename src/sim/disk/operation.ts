/** One call of the disk, as data: it can be numbered, refused, described, and tried on a copy of
 * the image.
 * Invariant: only `perform` changes an image on behalf of a call. */
import { pageBytes } from './content.js'
import { Refusal, type DiskImage } from './disk-image.js'
import type { SimFile } from './sim-file.js'

interface OnPath<K extends string> {
  readonly kind: K
  readonly path: string
}

interface OnFile<K extends string> extends OnPath<K> {
  readonly file: SimFile
}

export interface WriteOperation extends OnFile<'write' | 'writeSynced'> {
  readonly position: number
  readonly bytes: Buffer
}

export interface TruncateOperation extends OnFile<'truncate'> {
  readonly lengthBytes: number
}

/** `seq`: the last change that was made when the call was issued. */
export interface SyncOperation extends OnFile<'sync'> {
  readonly seq: number
}

export interface SyncDirectoryOperation extends OnPath<'syncDirectory'> {
  readonly seq: number
}

export interface RenameOperation extends OnPath<'rename'> {
  readonly to: string
}

/** Calls that change the image, and may have done so, in part, before they answer. */
export type ChangingOperation =
  | WriteOperation
  | TruncateOperation
  | RenameOperation
  | OnPath<'create' | 'unlink' | 'makeDirectory' | 'removeDirectory'>

export type Operation =
  | ChangingOperation
  | SyncOperation
  | SyncDirectoryOperation
  | OnPath<'open' | 'list' | 'stat' | 'space' | 'lock'>
  | OnFile<'read' | 'size' | 'close'>

export type OperationKind = Operation['kind']

const synced: ReadonlySet<OperationKind> = new Set(['writeSynced', 'sync', 'syncDirectory'])

export const makesDurable = ({ kind }: Operation): boolean => synced.has(kind)

/** Makes the change of a call. @param file the copy to change instead of the file itself.
 * @throws Refusal */
export function perform(image: DiskImage, operation: ChangingOperation, file?: SimFile): void {
  switch (operation.kind) {
    case 'write':
    case 'writeSynced':
      writeWithin(image, file ?? operation.file, operation)
      return
    case 'truncate':
      ;(file ?? operation.file).truncate(operation.lengthBytes, image.nextSeq())
      return
    case 'create':
      image.create(operation.path)
      return
    case 'rename':
      image.rename(operation.path, operation.to)
      return
    case 'unlink':
      image.unlink(operation.path)
      return
    case 'makeDirectory':
      image.makeDirectory(operation.path)
      return
    case 'removeDirectory':
      image.removeDirectory(operation.path)
  }
}

/** As many whole pages as there is room for; then the kernel refuses the rest. */
function writeWithin(image: DiskImage, file: SimFile, operation: WriteOperation): void {
  const { bytes, position } = operation
  const { freeBytes } = image.space()
  let count = bytes.length
  while (count > 0 && file.cached.missingBytes(count, position) > freeBytes) {
    count = Math.max(0, count - 1 - ((position + count - 1) % pageBytes))
  }
  if (count > 0) {
    const fitting = bytes.subarray(0, count)
    if (operation.kind === 'write') file.write(fitting, position, image.nextSeq())
    else file.writeSynced(fitting, position, image.nextSeq())
  }
  if (count < bytes.length) throw new Refusal('ENOSPC')
}

/** Calls that change the image. */
export function isChanging(operation: Operation): operation is ChangingOperation {
  switch (operation.kind) {
    case 'write':
    case 'writeSynced':
    case 'truncate':
    case 'create':
    case 'rename':
    case 'unlink':
    case 'makeDirectory':
    case 'removeDirectory':
      return true
    case 'sync':
    case 'syncDirectory':
    case 'open':
    case 'list':
    case 'stat':
    case 'space':
    case 'lock':
    case 'read':
    case 'size':
    case 'close':
      return false
  }
}

/** One line for a trace: `write journal/1 @4096+512`. */
export function describeOperation(operation: Operation): string {
  const name = `${operation.kind} ${operation.path === '' ? '.' : operation.path}`
  if ('bytes' in operation) return `${name} @${operation.position}+${operation.bytes.length}`
  if ('lengthBytes' in operation) return `${name} to ${operation.lengthBytes}`
  return operation.kind === 'rename' ? `${name} to ${operation.to}` : name
}
