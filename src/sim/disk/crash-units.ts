/** The changes of an image that a power loss may keep or lose, one by one.
 * Invariant: units come in the kernel's order, and each names the earlier ones that survive
 * whenever it does: of one sector the newest state can be on the device alone, and an old name is
 * removed only when the new one is there. */
import type { NameChange, SimDirectory, SimNode } from './sim-directory.js'
import { sectorPieces, type Pending, type PendingWrite, type SimFile } from './sim-file.js'

interface FileUnit {
  readonly kind: 'file'
  readonly file: SimFile
  readonly entry: Pending
  readonly requires: number[]
}

interface NameUnit {
  readonly kind: 'name'
  readonly directory: SimDirectory
  readonly change: NameChange
  readonly requires: number[]
}

export type CrashUnit = FileUnit | NameUnit

export interface UnitOptions {
  /** What the device writes in one piece: 512 or 4096. */
  readonly sectorBytes: number
  /** Whether the changes of one directory become durable in order only. */
  readonly namesInOrder: boolean
}

export function crashUnits(root: SimDirectory, options: UnitOptions): CrashUnit[] {
  const units: CrashUnit[] = []
  for (const node of reachable(root)) {
    if (node.kind === 'file') {
      for (const entry of node.pending) {
        const pieces = entry.kind === 'write' ? sectorPieces(entry, options.sectorBytes) : [entry]
        for (const piece of pieces) units.push({ kind: 'file', file: node, entry: piece, requires: [] })
      }
    } else {
      for (const change of node.pending) units.push({ kind: 'name', directory: node, change, requires: [] })
    }
  }
  units.sort((a, b) => seqOf(a) - seqOf(b) || rankOf(a) - rankOf(b))
  require(units, options)
  return units
}

/** Describes `unit` for a replay message. @param pathOf a name for the file or directory */
export function describeUnit(unit: CrashUnit, pathOf: (node: SimNode) => string): string {
  if (unit.kind === 'file') {
    const { entry } = unit
    const what =
      entry.kind === 'length' ? `length ${entry.lengthBytes}` : `@${entry.position}+${entry.bytes.length}`
    return `${pathOf(unit.file)} ${what}`
  }
  const { change } = unit
  const at = pathOf(unit.directory)
  const name = at === '.' ? change.name : `${at}/${change.name}`
  if (change.node === undefined) return `-${name}`
  return change.removes === undefined ? `+${name}` : `${change.removes}->${name}`
}

/** Everything that a crash could leave a name for. */
function reachable(root: SimDirectory): Set<SimNode> {
  const nodes = new Set<SimNode>([root])
  // Set iteration visits what is added during it.
  for (const node of nodes) {
    if (node.kind === 'file') continue
    for (const child of node.names.values()) nodes.add(child)
    for (const child of node.durable.values()) nodes.add(child)
    for (const change of node.pending) if (change.node !== undefined) nodes.add(change.node)
  }
  return nodes
}

const seqOf = (unit: CrashUnit): number => (unit.kind === 'file' ? unit.entry.seq : unit.change.seq)

/** The removal of the old name comes after the new name of the same rename. */
const rankOf = (unit: CrashUnit): number => (unit.kind === 'name' && unit.change.after !== undefined ? 1 : 0)

function require(units: readonly CrashUnit[], options: UnitOptions): void {
  const newestOfSector = new Map<SimFile, Map<number, number>>()
  const newestOfDirectory = new Map<SimDirectory, number>()
  for (const [index, unit] of units.entries()) {
    if (unit.kind === 'file') {
      if (unit.entry.kind !== 'write') continue
      let newest = newestOfSector.get(unit.file)
      if (newest === undefined) newestOfSector.set(unit.file, (newest = new Map()))
      const sector = sectorOf(unit.entry, options.sectorBytes)
      const previous = newest.get(sector)
      if (previous !== undefined) unit.requires.push(previous)
      newest.set(sector, index)
      continue
    }
    const { directory, change } = unit
    const previous = newestOfDirectory.get(directory)
    if (options.namesInOrder && previous !== undefined) unit.requires.push(previous)
    newestOfDirectory.set(directory, index)
    const target = change.after
    if (target === undefined) continue
    const newName = units.findIndex(
      (other) => other.kind === 'name' && other.directory === target && other.change.seq === change.seq,
    )
    if (newName >= 0) unit.requires.push(newName)
  }
}

export const sectorOf = (entry: PendingWrite, sectorBytes: number): number =>
  Math.floor(entry.position / sectorBytes)
