/** A file as the kernel and the device see it.
 * Invariant: reads return `cached`; the device certainly holds `durable`; `pending` holds their
 * differences, in order. A write that grows the file is two changes, bytes and length; either may
 * be lost alone.
 * After a failed sync the kernel calls the pages clean: they stay readable, no later sync writes
 * them, and a power loss may take them. Only a new write makes its whole sector dirty again. */
import { Content, ownCopy } from './content.js'

export interface PendingWrite {
  readonly kind: 'write'
  readonly seq: number
  readonly position: number
  readonly bytes: Buffer
  /** The kernel believes that the device has it. */
  readonly clean: boolean
}

export interface PendingLength {
  readonly kind: 'length'
  readonly seq: number
  readonly lengthBytes: number
  /** Whether the file became shorter. */
  readonly cut: boolean
  readonly clean: boolean
}

export type Pending = PendingWrite | PendingLength

/** The smallest unit that a device writes; a dirty sector is written whole. */
const sectorBytesMin = 512

export class SimFile {
  readonly kind = 'file'
  cached: Content = new Content()
  durable: Content = this.cached.share()
  pending: Pending[] = []

  /** A copy that shares all pages. */
  clone(): SimFile {
    const copy = new SimFile()
    copy.cached = this.cached.share()
    copy.durable = this.durable.share()
    copy.pending = this.pending.slice()
    return copy
  }

  /** A copy with `durable` on the device and nothing else in the kernel. */
  static fromDevice(durable: Content): SimFile {
    const file = new SimFile()
    file.cached = durable.share()
    file.durable = durable
    return file
  }

  write(bytes: Buffer, position: number, seq: number): void {
    const own = ownCopy(bytes)
    this.pending.push({ kind: 'write', seq, position, bytes: own, clean: false })
    this.cached = this.cached.patch(own, position)
    const endBytes = position + own.length
    if (endBytes <= this.cached.lengthBytes) return
    this.pending.push({ kind: 'length', seq, lengthBytes: endBytes, cut: false, clean: false })
    this.cached = this.cached.resize(endBytes)
  }

  truncate(lengthBytes: number, seq: number): void {
    const cut = lengthBytes < this.cached.lengthBytes
    this.pending.push({ kind: 'length', seq, lengthBytes, cut, clean: false })
    this.cached = this.cached.resize(lengthBytes)
  }

  /** A write through an O_DSYNC descriptor: only its own bytes, and the length that reaches
   * them, are certain. */
  writeSynced(bytes: Buffer, position: number, seq: number): void {
    const apart = this.pending.every((entry) => entry.kind === 'write' && isApart(entry, bytes, position))
    if (!apart) {
      // Sectors are shared with writes that are pending: the device gets those with it, and may get
      // all the rest.
      this.write(bytes, position, seq)
      this.sync(seq)
      return
    }
    const own = ownCopy(bytes)
    const lengthBytes = Math.max(this.cached.lengthBytes, position + own.length)
    this.cached = grow(this.cached.patch(own, position), lengthBytes)
    this.durable =
      this.pending.length === 0 ? this.cached.share() : grow(this.durable.patch(own, position), lengthBytes)
  }

  /** Makes durable all dirty changes up to `seq`. */
  sync(seq: number): void {
    if (this.pending.every((entry) => entry.seq <= seq && !entry.clean)) {
      this.durable = this.cached.share()
      this.pending = []
      return
    }
    const sectors = dirtySectors(this.pending, seq)
    const rest: Pending[] = []
    for (const entry of this.pending) {
      if (entry.seq > seq) rest.push(entry)
      else if (!entry.clean) this.durable = applied(this.durable, entry)
      else if (entry.kind === 'length') rest.push(entry)
      else {
        for (const piece of sectorPieces(entry, sectorBytesMin)) {
          if (sectors.has(Math.floor(piece.position / sectorBytesMin)))
            this.durable = applied(this.durable, piece)
          else rest.push(piece)
        }
      }
    }
    this.pending = rest
  }

  /** The sync failed: its changes are called clean. */
  failSync(seq: number): void {
    this.pending = this.pending.map((entry) => (entry.seq <= seq ? { ...entry, clean: true } : entry))
  }

  /** The kernel needs the memory: clean pages are read from the device again.
   * @returns whether there were any */
  dropClean(): boolean {
    if (!this.pending.some(({ clean }) => clean)) return false
    this.pending = this.pending.filter(({ clean }) => !clean)
    this.cached = this.durable.share()
    for (const entry of this.pending) this.cached = applied(this.cached, entry)
    return true
  }

  /** Changes the bytes on the device and in the kernel: rot, or a test. */
  damage(bytes: Buffer, position: number): void {
    this.cached = this.cached.patch(bytes, position)
    this.durable = this.durable.patch(bytes, position)
  }
}

/** `content` with one pending change; bytes beyond the end stay unseen until a length reaches
 * them. */
export function applied(content: Content, entry: Pending): Content {
  if (entry.kind === 'write') return content.patch(entry.bytes, entry.position)
  return entry.cut ? content.resize(entry.lengthBytes) : grow(content, entry.lengthBytes)
}

/** One write, cut where sectors begin. */
export function* sectorPieces(entry: PendingWrite, sectorBytes: number): Generator<PendingWrite> {
  let done = 0
  while (done < entry.bytes.length) {
    const position = entry.position + done
    const count = Math.min(entry.bytes.length - done, sectorBytes - (position % sectorBytes))
    yield { ...entry, position, bytes: entry.bytes.subarray(done, done + count) }
    done += count
  }
}

const grow = (content: Content, lengthBytes: number): Content =>
  lengthBytes > content.lengthBytes ? content.resize(lengthBytes) : content

function dirtySectors(pending: readonly Pending[], seq: number): Set<number> {
  const sectors = new Set<number>()
  for (const entry of pending) {
    if (entry.kind !== 'write' || entry.clean || entry.seq > seq) continue
    for (const piece of sectorPieces(entry, sectorBytesMin))
      sectors.add(Math.floor(piece.position / sectorBytesMin))
  }
  return sectors
}

function isApart(entry: PendingWrite, bytes: Buffer, position: number): boolean {
  const firstSector = Math.floor(position / sectorBytesMin)
  const endSector = Math.ceil((position + bytes.length) / sectorBytesMin)
  const entryEndSector = Math.ceil((entry.position + entry.bytes.length) / sectorBytesMin)
  return entryEndSector <= firstSector || endSector <= Math.floor(entry.position / sectorBytesMin)
}
