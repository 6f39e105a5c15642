/** The images that a power loss may leave.
 * Invariant: each is a separate image with empty caches that holds everything durable, one set of
 * survivors of the rest (calls under way included), and garbage in at most one sector. The moment
 * of the call is captured; the states are made when they are taken. */
import { seededPrng, type Prng } from '../../base/prng.js'
import { Content } from './content.js'
import { copyImage } from './copy.js'
import { crashUnits, describeUnit, sectorOf, type CrashUnit } from './crash-units.js'
import { Refusal, type DiskImage } from './disk-image.js'
import { perform, type ChangingOperation } from './operation.js'
import { SimDirectory, applyChange, type SimNode } from './sim-directory.js'
import { SimFile, applied, type PendingWrite } from './sim-file.js'
import { survivorSets, type Survivors } from './survivors.js'

export interface CrashOptions {
  /** Draws random sets and garbage. Default 0. */
  readonly seed?: number
  /** What the device writes in one piece, 512 (default) or 4096. */
  readonly sectorBytes?: number
  /** Whether the changes of one directory become durable in order only. Default
   * false: in any order. */
  readonly namesInOrder?: boolean
  /** The contents of a torn sector besides old and new: nothing else, garbage where it was written,
   * or (default) garbage all over the sector, settled neighbours included. */
  readonly garbage?: 'none' | 'written' | 'sector'
  /** Up to so many units all sets of survivors are tried. Default 7. */
  readonly exhaustiveUnitsMax?: number
  /** Beyond that, random sets. Default 16. */
  readonly randomStates?: number
  /** Beyond that, states at most. Default 256. */
  readonly statesMax?: number
}

/** One state; what it costs to make its image is paid when it is first asked for. */
export class CrashState {
  /** The changes that survived, for a replay message. */
  readonly describe: () => string
  readonly #make: () => DiskImage
  #image: DiskImage | undefined

  constructor(make: () => DiskImage, describe: () => string) {
    this.#make = make
    this.describe = describe
  }

  get image(): DiskImage {
    return (this.#image ??= this.#make())
  }
}

/** @param underWay calls that were issued and have not answered, in the order in which
 * they were issued */
export function crashStates(
  original: DiskImage,
  underWay: readonly ChangingOperation[],
  options: CrashOptions = {},
): Generator<CrashState> {
  const { image, fileOf } = copyImage(original)
  for (const operation of underWay) tryOn(image, operation, fileOf)
  return statesOf(image, options)
}

function* statesOf(image: DiskImage, options: CrashOptions): Generator<CrashState> {
  const prng = seededPrng(options.seed ?? 0)
  const sectorBytes = options.sectorBytes ?? 512
  const garbage = options.garbage ?? 'sector'
  const units = crashUnits(image.root, { sectorBytes, namesInOrder: options.namesInOrder ?? false })
  const garbageUnits =
    garbage === 'none'
      ? []
      : Array.from(units.keys()).filter((index) => {
          const unit = units[index]
          return (
            unit?.kind === 'file' && unit.entry.kind === 'write' && changesAnything(unit.file, unit.entry)
          )
        })
  const bounds = {
    exhaustiveUnitsMax: options.exhaustiveUnitsMax ?? 7,
    randomStates: options.randomStates ?? 16,
    statesMax: options.statesMax ?? 256,
  }
  const sets = survivorSets(
    units.map((unit) => unit.requires),
    garbageUnits,
    bounds,
    prng,
  )
  for (const survivors of sets) {
    const ruined = garbageOf(units, survivors, garbage === 'sector' ? sectorBytes : undefined, prng)
    yield new CrashState(
      () => imageAfter(image, units, survivors, ruined),
      () => describeSurvivors(image, units, survivors),
    )
  }
}

/** Assumed of the device: a sector that is overwritten with its own bytes keeps them, whenever
 * the power fails. */
function changesAnything({ durable }: SimFile, { bytes, position }: PendingWrite): boolean {
  const held = Buffer.alloc(bytes.length)
  return durable.read(held, position) < bytes.length || !held.equals(bytes)
}

/** A synced write that has not answered is as uncertain as any. */
function tryOn(image: DiskImage, operation: ChangingOperation, fileOf: (file: SimFile) => SimFile): void {
  try {
    if (!('file' in operation)) perform(image, operation)
    else if (operation.kind === 'truncate') perform(image, operation, fileOf(operation.file))
    else perform(image, { ...operation, kind: 'write' }, fileOf(operation.file))
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
  }
}

interface Ruin {
  readonly bytes: Buffer
  readonly position: number
}

/** @param sectorBytes the whole sector, or `undefined` for only what was written */
function garbageOf(
  units: readonly CrashUnit[],
  survivors: Survivors,
  sectorBytes: number | undefined,
  prng: Prng,
): Ruin | undefined {
  const unit = survivors.garbage === undefined ? undefined : units[survivors.garbage]
  if (unit?.kind !== 'file' || unit.entry.kind !== 'write') return undefined
  const { entry } = unit
  const bytes = Buffer.alloc(sectorBytes ?? entry.bytes.length)
  for (let at = 0; at < bytes.length; at++) bytes[at] = prng.uint32()
  const position = sectorBytes === undefined ? entry.position : sectorOf(entry, sectorBytes) * sectorBytes
  return { bytes, position }
}

function imageAfter(
  image: DiskImage,
  units: readonly CrashUnit[],
  survivors: Survivors,
  ruin: Ruin | undefined,
): DiskImage {
  const contents = new Map<SimFile, Content>()
  const names = new Map<SimDirectory, Map<string, SimNode>>()
  for (const [index, unit] of units.entries()) {
    const ruined = index === survivors.garbage ? ruin : undefined
    if (!survivors.kept[index] && ruined === undefined) continue
    if (unit.kind === 'name') {
      let map = names.get(unit.directory)
      if (map === undefined) names.set(unit.directory, (map = new Map(unit.directory.durable)))
      applyChange(map, unit.change)
    } else {
      const content = contents.get(unit.file) ?? unit.file.durable.share()
      const changed =
        ruined === undefined ? applied(content, unit.entry) : content.patch(ruined.bytes, ruined.position)
      contents.set(unit.file, changed)
    }
  }
  const copies = new Map<SimNode, SimNode>()
  const nodeOf = (node: SimNode): SimNode => {
    let copy = copies.get(node)
    if (copy === undefined) {
      if (node.kind === 'file') copy = SimFile.fromDevice(trimmed(contents.get(node) ?? node.durable.share()))
      else copy = directoryOf(node)
      copies.set(node, copy)
    }
    return copy
  }
  const directoryOf = (directory: SimDirectory): SimDirectory => {
    const copy = new SimDirectory()
    for (const [name, node] of names.get(directory) ?? directory.durable) copy.names.set(name, nodeOf(node))
    copy.durable = new Map(copy.names)
    return copy
  }
  return image.with(directoryOf(image.root))
}

/** Without what was written behind a length that did not survive. */
const trimmed = (content: Content): Content => content.resize(content.lengthBytes)

const namedMax = 12

function describeSurvivors(image: DiskImage, units: readonly CrashUnit[], survivors: Survivors): string {
  const paths = new Map<SimNode, string>([[image.root, '.']])
  for (const [path, node] of image.walk()) paths.set(node, path)
  const nameOf = (index: number): string =>
    describeUnit(units[index] as CrashUnit, (node) => paths.get(node) ?? '(unlinked)')
  const kept = Array.from(units.keys()).filter((index) => survivors.kept[index])
  const lost = Array.from(units.keys()).filter((index) => !survivors.kept[index])
  const [word, fewer] = kept.length <= lost.length ? ['kept', kept] : ['lost', lost]
  const list = fewer.slice(0, namedMax).map(nameOf).join(', ')
  const more = fewer.length > namedMax ? `, and ${fewer.length - namedMax} more` : ''
  const ruined = survivors.garbage === undefined ? '' : `; garbage in ${nameOf(survivors.garbage)}`
  return `power loss, ${kept.length} of ${units.length} survive; ${word}: ${list || 'nothing'}${more}${ruined}`
}
