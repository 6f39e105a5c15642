/** The content of a simulated store: queues, fences, names, extents.
 * Invariant: a change happens as a whole or not at all, and two databases that have made the
 * same changes in the same order are the same. What is refused changes nothing. */
import { InvariantError } from '../../base/assert.js'
import {
  done,
  fenced,
  refused,
  split,
  type Answer,
  type Change,
  type Claimant,
  type Content,
  type Extent,
  type Fence,
  type FoundFile,
  type Part,
  type QueueRow,
  type Write,
} from '../../store/store.js'

interface FencePart {
  epoch: number
  nonce: string | undefined
  node: string | undefined
}

export interface FileEntry {
  readonly file: number
  readonly isDirectory: boolean
  readonly hasTable: boolean
  parent: string
  /** Undefined: unlinked. */
  name: string | undefined
  lengthBytes: number
  extents: Extent[]
}

export interface QueueEntry {
  readonly row: QueueRow
  home: string | undefined
  readonly fences: readonly [FencePart, FencePart]
  beat: number
  lastChange: number
  nextFile: number
  readonly files: Map<number, FileEntry>
}

const errno = (code: string): Answer<never> => refused({ kind: 'errno', errno: code })

export class Database {
  readonly queues: Map<number, QueueEntry> = new Map()

  makeQueue(name: string): void {
    const queue = this.queues.size + 1
    const part = (): FencePart => ({ epoch: 0, nonce: undefined, node: undefined })
    this.queues.set(queue, {
      row: { queue, name, home: undefined, quotaBytes: 2 ** 36 },
      home: undefined,
      fences: [part(), part()],
      beat: 0,
      lastChange: 0,
      nextFile: 1,
      files: new Map(),
    })
  }

  clone(): Database {
    const copy = new Database()
    for (const [queue, entry] of this.queues) copy.queues.set(queue, cloned(entry))
    return copy
  }

  queue(queue: number): QueueEntry {
    const entry = this.queues.get(queue)
    if (entry === undefined) throw new InvariantError(`there is no queue ${queue}`)
    return entry
  }

  holds({ queue, epoch }: Fence, part: Part): boolean {
    return this.queue(queue).fences[part].epoch === epoch
  }

  claim({ queue, epoch }: Fence, { nonce, node }: Claimant, isHome: boolean): Answer<number> {
    const entry = this.queue(queue)
    if (entry.fences.some((part) => part.epoch !== epoch)) return fenced
    if (isHome) entry.home ??= node
    for (const part of entry.fences) Object.assign(part, { epoch: epoch + 1, nonce, node })
    return done(epoch + 1)
  }

  resume(queue: number, nonce: string): Answer<number> {
    const { fences } = this.queue(queue)
    if (fences.some((part) => part.nonce !== nonce)) return fenced
    for (const part of fences) part.epoch++
    return done(fences[0].epoch)
  }

  beat(queue: number, nonce: string): Answer<void> {
    const entry = this.queue(queue)
    if (entry.fences[0].nonce !== nonce) return fenced
    entry.beat++
    return done(undefined)
  }

  /** All of them or none. */
  write(queue: number, writes: readonly Write[]): Answer<readonly number[]> {
    const before = writes.length > 1 ? cloned(this.queue(queue)) : undefined
    const made: number[] = []
    for (const write of writes) {
      const answer = this.#write(queue, write)
      if (answer.kind !== 'done') {
        if (before !== undefined) this.queues.set(queue, before)
        return answer
      }
      made.push(answer.value)
    }
    return done(made)
  }

  #write(queue: number, write: Write): Answer<number> {
    if (write.verb === 'append') return append(this.#file(queue, write.file.file), write.extents)
    if (write.verb === 'overwrite') {
      const file = this.#file(queue, write.file.file)
      cut(file, write.from, write.upto)
      file.lengthBytes = Math.max(file.lengthBytes, write.upto)
      return append(file, write.extents)
    }
    const entry = this.queue(queue)
    const answer = this.#changed(entry, write)
    if (answer.kind === 'done') entry.lastChange = write.number
    return answer
  }

  #changed(entry: QueueEntry, change: Change): Answer<number> {
    switch (change.verb) {
      case 'makeDirectory':
        return this.#make(entry, change.path, true, false)
      case 'create':
        return this.#make(entry, change.path, false, change.hasTable)
      case 'unlink':
      case 'removeDirectory':
        return this.#remove(entry, change.path, change.verb === 'removeDirectory')
      case 'rename':
        return this.#rename(entry, change.path, change.to)
      case 'truncate':
      case 'lengthen': {
        const file = entry.files.get(change.file)!
        if (change.verb === 'truncate') cut(file, change.lengthBytes, Infinity)
        const least = change.verb === 'truncate' ? 0 : file.lengthBytes
        file.lengthBytes = Math.max(least, change.lengthBytes)
        return done(0)
      }
    }
  }

  #make(entry: QueueEntry, path: string, isDirectory: boolean, hasTable: boolean): Answer<number> {
    const [parent, name] = split(path)
    const missing = this.#checkParent(entry, parent)
    if (missing !== undefined) return missing
    const old = at(entry, path)
    if (old !== undefined) return isDirectory && old.isDirectory ? done(0) : errno('EEXIST')
    const file = entry.nextFile++
    entry.files.set(file, { file, parent, name, isDirectory, hasTable, lengthBytes: 0, extents: [] })
    return done(isDirectory ? 0 : file)
  }

  #remove(entry: QueueEntry, path: string, isDirectory: boolean): Answer<number> {
    const file = at(entry, path)
    if (file === undefined) return errno('ENOENT')
    if (file.isDirectory !== isDirectory) return errno(isDirectory ? 'ENOTDIR' : 'EISDIR')
    if (!isDirectory) file.name = undefined
    else if (namesIn(entry, path).length > 0) return errno('ENOTEMPTY')
    else entry.files.delete(file.file)
    return done(0)
  }

  #rename(entry: QueueEntry, from: string, to: string): Answer<number> {
    const file = at(entry, from)
    if (file === undefined) return errno('ENOENT')
    const [parent, name] = split(to)
    const missing = this.#checkParent(entry, parent)
    const old = at(entry, to)
    if (file.isDirectory || old?.isDirectory === true) return errno('EISDIR')
    if (missing !== undefined) return missing
    if (old !== undefined && old !== file) old.name = undefined
    file.parent = parent
    file.name = name
    return done(0)
  }

  #checkParent(entry: QueueEntry, parent: string): Answer<never> | undefined {
    if (parent === '') return undefined
    const found = at(entry, parent)
    if (found === undefined) return errno('ENOENT')
    return found.isDirectory ? undefined : errno('ENOTDIR')
  }

  #file(queue: number, number: number): FileEntry {
    const file = this.queue(queue).files.get(number)
    if (file === undefined) throw new InvariantError(`there is no file ${number}`)
    return file
  }

  read(queue: number, number: number, from: number, upto: number): Answer<Content> {
    const file = this.queue(queue).files.get(number)
    if (file === undefined) return errno('ENOENT')
    return done({
      extents: file.extents.filter((extent) => extent.at < upto && extent.upto > from),
      lengthBytes: Math.max(file.lengthBytes, file.extents.at(-1)?.upto ?? 0),
    })
  }

  list(queue: number, directory: string): Answer<string[]> {
    const entry = this.queue(queue)
    if (directory !== '' && at(entry, directory)?.isDirectory === false) return errno('ENOTDIR')
    return done(namesIn(entry, directory))
  }

  find(queue: number, path: string): FoundFile | undefined {
    const file = at(this.queue(queue), path)
    if (file === undefined) return undefined
    const contentEnd = file.extents.at(-1)?.upto ?? 0
    return { ...file, contentEnd, lengthBytes: Math.max(file.lengthBytes, contentEnd) }
  }

  reap(queue: number, open: readonly number[]): Answer<number> {
    const { files } = this.queue(queue)
    for (const [number, { name }] of files)
      if (name === undefined && !open.includes(number)) files.delete(number)
    return done(0)
  }
}

function at(entry: QueueEntry, path: string): FileEntry | undefined {
  const [parent, name] = split(path)
  for (const file of entry.files.values()) if (file.name === name && file.parent === parent) return file
  return undefined
}

const namesIn = (entry: QueueEntry, directory: string): string[] =>
  [...entry.files.values()].flatMap(({ parent, name }) =>
    parent === directory && name !== undefined ? [name] : [],
  )

const cloned = (entry: QueueEntry): QueueEntry => ({
  ...entry,
  fences: [{ ...entry.fences[0] }, { ...entry.fences[1] }],
  files: new Map(Array.from(entry.files, ([n, file]) => [n, { ...file, extents: [...file.extents] }])),
})

function append(file: FileEntry, extents: readonly Extent[]): Answer<number> {
  for (const extent of extents) {
    // A key that is there twice, and what no driver may write.
    if (file.extents.some(({ at, upto }) => at < extent.upto && extent.at < upto))
      throw new InvariantError(`two extents of one place, ${extent.at} of file ${file.file}`)
    file.extents.push(extent)
  }
  file.extents.sort((a, b) => a.at - b.at)
  return done(0)
}

/** Takes away what lies in [from, upto). */
function cut(file: FileEntry, from: number, upto: number): void {
  file.extents = file.extents.flatMap((extent) => {
    if (extent.upto <= from || extent.at >= upto) return [extent]
    const pieces: Extent[] = []
    if (extent.at < from)
      pieces.push({ ...extent, upto: from, bytes: extent.bytes.subarray(0, from - extent.at) })
    if (extent.upto > upto)
      pieces.push({ at: upto, upto: extent.upto, bytes: extent.bytes.subarray(upto - extent.at) })
    return pieces
  })
}
