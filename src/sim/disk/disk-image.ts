/** A device with the kernel that has it mounted: names, files, and all that is not durable yet.
 * Invariant: everything that a life leaves behind is in its image, so the next life is a new
 * SimDisk on it, or on one that a crash made of it. Copies share all pages. Paths are as in the
 * port; the root is always there. */
import { SimDirectory, type SimNode } from './sim-directory.js'
import { SimFile } from './sim-file.js'

/** A refusal of the kernel. */
export class Refusal extends Error {
  readonly errno: string

  constructor(errno: string) {
    super(errno)
    this.errno = errno
  }
}

export interface DeviceSize {
  readonly capacityBytes: number
  readonly capacityFiles: number
}

interface Place {
  readonly directory: SimDirectory
  readonly name: string
}

export class DiskImage {
  readonly root: SimDirectory
  /** Numbers all changes of files and names, in the order in which the kernel made them. */
  seq = 0
  /** Open descriptors: an unlinked file takes room until the last is closed. */
  readonly openCounts: Map<SimFile, number> = new Map()
  lockHolder: object | undefined
  size: DeviceSize = {
    capacityBytes: Number.POSITIVE_INFINITY,
    capacityFiles: Number.POSITIVE_INFINITY,
  }

  constructor(root: SimDirectory = new SimDirectory()) {
    this.root = root
  }

  /** The same device, with the same size and number of changes, and other names. */
  with(root: SimDirectory): DiskImage {
    const image = new DiskImage(root)
    image.seq = this.seq
    image.size = this.size
    return image
  }

  nextSeq(): number {
    return ++this.seq
  }

  /** @throws Refusal ENOENT, ENOTDIR */
  directory(path: string): SimDirectory {
    if (path === '') return this.root
    const node = this.find(path)
    if (node === undefined) throw new Refusal('ENOENT')
    if (node.kind !== 'directory') throw new Refusal('ENOTDIR')
    return node
  }

  /** @throws Refusal ENOENT, EISDIR */
  file(path: string): SimFile {
    const node = this.find(path)
    if (node === undefined) throw new Refusal('ENOENT')
    if (node.kind !== 'file') throw new Refusal('EISDIR')
    return node
  }

  /** @throws Refusal ENOTDIR */
  find(path: string): SimNode | undefined {
    let node: SimNode | undefined = this.root
    for (const name of path.split('/')) {
      if (node === undefined) return undefined
      if (node.kind !== 'directory') throw new Refusal('ENOTDIR')
      node = name === '' ? node : node.names.get(name)
    }
    return node
  }

  /** @throws Refusal EEXIST, ENOENT, ENOSPC */
  create(path: string): SimFile {
    return this.#add(path, new SimFile())
  }

  /** @throws Refusal EEXIST, ENOENT, ENOSPC */
  makeDirectory(path: string): void {
    const existing = path === '' ? this.root : this.find(path)
    if (existing?.kind === 'directory') return
    this.#add(path, new SimDirectory())
  }

  /** @throws Refusal ENOENT, ENOTDIR, ENOTEMPTY, EBUSY */
  removeDirectory(path: string): void {
    if (path === '') throw new Refusal('EBUSY')
    if (this.directory(path).names.size > 0) throw new Refusal('ENOTEMPTY')
    const { directory, name } = this.#place(path)
    directory.remove(name, this.nextSeq())
  }

  /** @throws Refusal ENOENT, EISDIR */
  unlink(path: string): void {
    this.file(path)
    const { directory, name } = this.#place(path)
    directory.remove(name, this.nextSeq())
  }

  /** @throws Refusal ENOENT, EISDIR */
  rename(fromPath: string, toPath: string): void {
    const file = this.file(fromPath)
    const from = this.#place(fromPath)
    const to = this.#place(toPath)
    if (to.directory.names.get(to.name)?.kind === 'directory') throw new Refusal('EISDIR')
    if (to.directory.names.get(to.name) === file) return
    const seq = this.nextSeq()
    if (from.directory === to.directory) {
      from.directory.rename(from.name, to.name, file, seq)
    } else {
      to.directory.set(to.name, file, seq)
      from.directory.remove(from.name, seq, to.directory)
    }
  }

  /** Sets the free bytes of the device. */
  leave(freeBytes: number): void {
    this.size = {
      ...this.size,
      capacityBytes: freeBytes === Infinity ? Infinity : this.#usedBytes() + freeBytes,
    }
  }

  #usedBytes(): number {
    let usedBytes = 0
    for (const node of this.#nodes()) if (node.kind === 'file') usedBytes += node.cached.allocatedBytes
    return usedBytes
  }

  /** Those that have a name, or are open. */
  #nodes(): Set<SimNode> {
    const nodes = new Set<SimNode>(this.openCounts.keys())
    for (const [, node] of this.walk()) nodes.add(node)
    return nodes
  }

  /** Free bytes, by the room that files take, not by their lengths. */
  space(): { freeBytes: number; freeFiles: number } {
    const { capacityBytes, capacityFiles } = this.size
    if (capacityBytes === Number.POSITIVE_INFINITY && capacityFiles === Number.POSITIVE_INFINITY)
      return { freeBytes: capacityBytes, freeFiles: capacityFiles }
    return {
      freeBytes: Math.max(0, capacityBytes - this.#usedBytes()),
      freeFiles: Math.max(0, capacityFiles - this.#nodes().size),
    }
  }

  /** The kernel drops all clean pages from memory. @returns whether there were any */
  dropClean(): boolean {
    let isAny = false
    for (const node of this.#nodes()) if (node.kind === 'file' && node.dropClean()) isAny = true
    return isAny
  }

  /** Everything that has a name now, parents first. */
  *walk(directory: SimDirectory = this.root, prefix = ''): Generator<[path: string, node: SimNode]> {
    for (const [name, node] of directory.names) {
      yield [prefix + name, node]
      if (node.kind === 'directory') yield* this.walk(node, `${prefix}${name}/`)
    }
  }

  /** Names that lead to the file. */
  nameCount(file: SimFile): number {
    let count = 0
    for (const [, node] of this.walk()) if (node === file) count++
    return count
  }

  /** Paths of all files, sorted. */
  files(): string[] {
    return Array.from(this.walk())
      .filter(([, node]) => node.kind === 'file')
      .map(([path]) => path)
      .sort()
  }

  /** The bytes of a file as the kernel sees them. */
  bytes(path: string): Buffer {
    const { cached } = this.file(path)
    const bytes = Buffer.alloc(cached.lengthBytes)
    cached.read(bytes, 0)
    return bytes
  }

  /** Overwrites bytes on the device, unseen by the kernel; the file keeps its length. */
  damage(path: string, position: number, bytes: Buffer): void {
    const file = this.file(path)
    file.damage(Buffer.from(bytes.subarray(0, Math.max(0, file.cached.lengthBytes - position))), position)
  }

  /** Turns over bit `bit` (0 … 7) of the byte at `position`. */
  flipBit(path: string, position: number, bit: number): void {
    const byte = Buffer.alloc(1)
    this.file(path).cached.read(byte, position)
    this.damage(path, position, Buffer.of((byte[0] ?? 0) ^ (1 << bit)))
  }

  #add<N extends SimNode>(path: string, node: N): N {
    const { directory, name } = this.#place(path)
    if (directory.names.has(name)) throw new Refusal('EEXIST')
    if (this.space().freeFiles < 1) throw new Refusal('ENOSPC')
    directory.set(name, node, this.nextSeq())
    return node
  }

  #place(path: string): Place {
    const cut = path.lastIndexOf('/')
    return { directory: this.directory(cut < 0 ? '' : path.slice(0, cut)), name: path.slice(cut + 1) }
  }
}
