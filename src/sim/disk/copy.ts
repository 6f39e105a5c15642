/** Copies of an image.
 * Invariant: a copy has one node for each node of the original, even where two names, a name that
 * is not durable, or only an open descriptor leads to it. Pages are shared, all else is copied. */
import type { DiskImage } from './disk-image.js'
import { SimDirectory, type NameChange, type SimNode } from './sim-directory.js'
import { SimFile } from './sim-file.js'

export interface ImageCopy {
  readonly image: DiskImage
  /** The copy of a node of the original. */
  readonly fileOf: (file: SimFile) => SimFile
}

/** Everything that the kernel has, durable or not. In the copy the lock is free and
 * no file is open. */
export function copyImage(original: DiskImage): ImageCopy {
  const copies = new Map<SimNode, SimNode>()
  const fileOf = (file: SimFile): SimFile => {
    let copy = copies.get(file)
    if (copy === undefined) copies.set(file, (copy = file.clone()))
    return copy as SimFile
  }
  const directoryOf = (directory: SimDirectory): SimDirectory => {
    const known = copies.get(directory)
    if (known !== undefined) return known as SimDirectory
    const copy = new SimDirectory()
    copies.set(directory, copy)
    copy.names = namesOf(directory.names)
    copy.durable = namesOf(directory.durable)
    copy.pending = directory.pending.map(changeOf)
    return copy
  }
  const nodeOf = (node: SimNode): SimNode => (node.kind === 'file' ? fileOf(node) : directoryOf(node))
  const namesOf = (names: ReadonlyMap<string, SimNode>): Map<string, SimNode> => {
    const copy = new Map<string, SimNode>()
    for (const [name, node] of names) copy.set(name, nodeOf(node))
    return copy
  }
  const changeOf = (change: NameChange): NameChange => ({
    ...change,
    node: change.node && nodeOf(change.node),
    after: change.after && directoryOf(change.after),
  })
  return { image: original.with(directoryOf(original.root)), fileOf }
}

/** The copy that a program makes elsewhere that copies files but no empty directories (`rsync -m`,
 * an archive of files): content as the kernel shows it, all of it durable. */
export function leanCopy(original: DiskImage): DiskImage {
  const directoryOf = (directory: SimDirectory): SimDirectory => {
    const copy = new SimDirectory()
    for (const [name, node] of directory.names) {
      const copied = node.kind === 'file' ? SimFile.fromDevice(node.cached.share()) : directoryOf(node)
      if (copied.kind === 'file' || copied.names.size > 0) copy.names.set(name, copied)
    }
    copy.durable = new Map(copy.names)
    return copy
  }
  return original.with(directoryOf(original.root))
}
