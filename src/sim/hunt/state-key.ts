/** Keys of images: two images with one key are the same to every life that begins on them.
 * Invariant: the key holds everything that a call can return or a later crash can leave: bytes,
 * names and their order, in the kernel and on the device, and the changes between the two, of whose
 * numbers only the order counts. */
import { createHash } from 'node:crypto'
import { inspect } from 'node:util'
import type { CrashPoint } from '../life/crash-point.js'
import type { DiskImage } from '../disk/disk-image.js'
import type { SimDirectory, SimNode } from '../disk/sim-directory.js'
import type { SimFile } from '../disk/sim-file.js'

/** Digests of bytes that never change, those of pages and of writes: thousands of states
 * share most of them. */
const digests = new WeakMap<Buffer, string>()

function digestOf(bytes: Buffer): string {
  let digest = digests.get(bytes)
  if (digest === undefined) digests.set(bytes, (digest = md5(bytes)))
  return digest
}

const md5 = (bytes: Buffer | string): string => createHash('md5').update(bytes).digest('base64')

/** Crashes that were tried: image, promises and time of each. */
export class TriedStates {
  readonly #keys = new Set<string>()

  get count(): number {
    return this.#keys.size
  }

  /** @param moment from `momentKey` @returns whether it was not tried before */
  add(moment: string, image: DiskImage): boolean {
    const before = this.#keys.size
    this.#keys.add(moment + imageKey(image))
    return this.#keys.size > before
  }
}

/** The common part of all states of a crash: promises and time. */
export const momentKey = ({ model, wallMs }: Pick<CrashPoint, 'model' | 'wallMs'>): string =>
  md5(
    inspect([wallMs, model.known], { depth: Infinity, maxArrayLength: Infinity, maxStringLength: Infinity }),
  )

/** Each by the number under which it is met first: two names of one file are not two files. */
type Numbers = ReadonlyMap<unknown, number>

export function imageKey({ root, size }: DiskImage): string {
  const nodes = nodesFrom(root)
  const numbers: Numbers = new Map([...nodes].map((node, index) => [node, index]))
  const changes = [...nodes].flatMap(({ pending }) => pending.map(({ seq }) => seq)).sort((a, b) => a - b)
  const order: Numbers = new Map(changes.map((seq, index) => [seq, index]))
  const parts = [...nodes].map((node) =>
    node.kind === 'file' ? fileParts(node, order) : directoryParts(node, numbers, order),
  )
  return md5(JSON.stringify([size.capacityBytes, size.capacityFiles, parts]))
}

/** All nodes that a name of the kernel, a name of the device, or a change leads to. */
function nodesFrom(root: SimDirectory): ReadonlySet<SimNode> {
  const nodes = new Set<SimNode>([root])
  // What is added meanwhile is visited, too.
  for (const node of nodes) {
    if (node.kind === 'file') continue
    const { names, durable, pending } = node
    const changed = pending.flatMap((change) => [change.node, change.after])
    for (const next of [...names.values(), ...durable.values(), ...changed]) if (next) nodes.add(next)
  }
  return nodes
}

const fileParts = ({ cached, durable, pending }: SimFile, order: Numbers): unknown => [
  cached.parts(digestOf),
  cached === durable || durable.parts(digestOf),
  pending.map((entry) =>
    entry.kind === 'write'
      ? [order.get(entry.seq), entry.clean, entry.position, digestOf(entry.bytes)]
      : [order.get(entry.seq), entry.clean, entry.lengthBytes, entry.cut],
  ),
]

const directoryParts = (
  { names, durable, pending }: SimDirectory,
  numbers: Numbers,
  order: Numbers,
): unknown => [
  Array.from(names, ([name, node]) => [name, numbers.get(node)]),
  Array.from(durable, ([name, node]) => [name, numbers.get(node)]),
  pending.map(({ seq, name, node, removes, after, clean }) => [
    order.get(seq),
    clean,
    name,
    numbers.get(node),
    removes,
    numbers.get(after),
  ]),
]
