/** A tar file as a disk that can only be read.
 * Invariant: it has files and nothing else: a name that leads out of it, a link or a device is
 * refused. What it holds stays in the file, of which the headers alone are kept. */
import { createReadStream } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { extract, type Headers } from 'tar-stream'
import { diskFailure, errnoOf } from '../disk/failure.js'
import type { Disk, DiskFile } from '../disk/disk.js'
import { WaybillError } from '../errors.js'

interface Entry {
  readonly offsetBytes: number
  readonly bytes: number
}

/** Files in a backup: a queue with so much large mail is backed up into a directory. */
const entriesMax = 4_000_000
const headerBytes = 512

/** @throws WaybillError NOT_A_QUEUE when it is no tar file of plain files, DISK_FAILED */
export async function tarDisk(path: string): Promise<Disk> {
  const entries = await entriesOf(path)
  const file = await open(path, 'r').catch((error: unknown) => {
    throw diskFailure('open', path, errnoOf(error), error)
  })
  const entryAt = (name: string): Entry => {
    const entry = entries.get(name)
    if (entry === undefined) throw diskFailure('open', name, 'ENOENT')
    return entry
  }
  return {
    list: async (directory) => namesIn(entries.keys(), directory),
    open: async (name, mode) => {
      if (mode !== 'read') throw diskFailure('open', name, 'EROFS')
      return fileIn(file, path, entryAt(name))
    },
    stat: async (name) => ({ lengthBytes: entryAt(name).bytes, nameCount: 1 }),
    space: async () => ({ freeBytes: 0, freeFiles: 0 }),
    abandon: () => void file.close(),
    makeDirectory: refuse,
    removeDirectory: refuse,
    rename: refuse,
    unlink: refuse,
    syncDirectory: refuse,
    lock: refuse,
  }
}

const refuse = (path: string): Promise<never> => Promise.reject(diskFailure('write', path, 'EROFS'))

async function entriesOf(path: string): Promise<ReadonlyMap<string, Entry>> {
  const entries = new Map<string, Entry>()
  const reading = extract()
  reading.on('entry', ({ name, size, type }: Headers, content, next) => {
    content
      .on('end', () => next())
      .on('error', () => undefined)
      .resume()
    if (type === 'directory') return
    // Where its header begins.
    const { offset } = content as { readonly offset?: number }
    if (type !== 'file' || size === undefined || offset === undefined || !isPlain(name))
      reading.destroy(foreign(path, `it holds '${name}', which no backup does`))
    else if (entries.size >= entriesMax) reading.destroy(foreign(path, 'it holds too many files'))
    else entries.set(name, { offsetBytes: offset + headerBytes, bytes: size })
  })
  // The pipeline has the error; an entry that breaks off has it, too.
  reading.on('error', () => undefined)
  try {
    await pipeline(createReadStream(path, { highWaterMark: 1024 * 1024 }), reading)
  } catch (error) {
    if (error instanceof WaybillError) throw error
    const errno = errnoOf(error)
    throw errno === undefined
      ? foreign(path, 'it is no tar file, or is cut short', error)
      : diskFailure('read', path, errno, error)
  }
  return entries
}

const isPlain = (name: string): boolean =>
  name.split('/').every((part) => part !== '' && part !== '.' && part !== '..')

const foreign = (path: string, reason: string, cause?: unknown): WaybillError =>
  new WaybillError('NOT_A_QUEUE', reason, { path }, cause)

function namesIn(paths: Iterable<string>, directory: string): string[] {
  const names = new Set<string>()
  const prefix = directory === '' ? '' : `${directory}/`
  for (const path of paths) if (path.startsWith(prefix)) names.add(path.slice(prefix.length).split('/')[0]!)
  return [...names].sort()
}

const fileIn = (file: FileHandle, path: string, { offsetBytes, bytes }: Entry): DiskFile => ({
  read: async (into, at) => {
    const wanted = Math.max(0, Math.min(into.length, bytes - at))
    try {
      const { bytesRead } = await file.read(into, 0, wanted, offsetBytes + at)
      return bytesRead
    } catch (error) {
      throw diskFailure('read', path, errnoOf(error), error)
    }
  },
  size: async () => bytes,
  close: async () => undefined,
  write: () => refuse(path),
  sync: () => refuse(path),
  truncate: () => refuse(path),
})
