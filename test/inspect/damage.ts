/** Damage to files in memory, each from one number. */
import { below, seededPrng, type Prng } from '../../src/base/prng.js'
import type { Files } from './memory-disk.js'

export interface Damaged {
  readonly files: Files
  readonly what: string
  /** Files that are not what they were. */
  readonly paths: readonly string[]
}

export function damage(files: Files, seed: number): Damaged {
  const prng = seededPrng(seed)
  for (;;) {
    const { name, apply } = kinds[below(prng, kinds.length)]!
    const damaged = new Map(files)
    const detail = apply(damaged, prng)
    const paths = changed(files, damaged)
    if (paths.length > 0) return { files: damaged, what: `seed ${seed}: ${name} ${detail}`, paths }
  }
}

const changed = (before: Files, after: Files): string[] =>
  [...new Set([...before.keys(), ...after.keys()])].filter((path) => {
    const old = before.get(path)
    const now = after.get(path)
    return old === undefined || now === undefined || !old.equals(now)
  })

interface Kind {
  readonly name: string
  readonly apply: (files: Map<string, Buffer>, prng: Prng) => string
}

const kinds: readonly Kind[] = [
  {
    name: 'flips a bit',
    apply: (files, prng) => inContent(files, prng, 1, (bytes) => (bytes[0]! ^= 1 << below(prng, 8))),
  },
  {
    name: 'flips a bit',
    apply: (files, prng) => inContent(files, prng, 1, (bytes) => (bytes[0]! ^= 1 << below(prng, 8))),
  },
  { name: 'flips a bit of the header', apply: flipInHeader },
  { name: 'flips bits all over', apply: flipAllOver },
  {
    name: 'turns over bytes',
    apply: (files, prng) =>
      inContent(files, prng, 64, (bytes) => bytes.forEach((byte, i) => (bytes[i] = ~byte))),
  },
  { name: 'zeroes', apply: (files, prng) => inContent(files, prng, 8192, (bytes) => bytes.fill(0)) },
  { name: 'zeroes the end of', apply: zeroEnd },
  {
    name: 'writes noise',
    apply: (files, prng) =>
      inContent(files, prng, 8192, (bytes) => bytes.forEach((_, i) => (bytes[i] = prng.uint32()))),
  },
  { name: 'cuts', apply: cut },
  { name: 'lengthens', apply: lengthen },
  { name: 'deletes', apply: remove },
  { name: 'swaps', apply: swap },
  { name: 'copies over', apply: copyOver },
  { name: 'moves a block', apply: moveBlock },
]

const pick = (files: Files, prng: Prng): string => [...files.keys()][below(prng, files.size)]!

function contentEnd(bytes: Buffer): number {
  let end = bytes.length
  while (end > 0 && bytes[end - 1] === 0) end--
  return end
}

/** Where something is written, mostly: the rest of a segment is zeroes. */
function inContent(
  files: Map<string, Buffer>,
  prng: Prng,
  lengthMax: number,
  change: (bytes: Buffer) => unknown,
): string {
  const path = pick(files, prng)
  const bytes = Buffer.from(files.get(path)!)
  if (bytes.length === 0) return path
  const most = Math.max(1, Math.min(bytes.length, contentEnd(bytes) + 64))
  const bound = below(prng, 10) === 0 ? bytes.length : most
  const at = below(prng, bound)
  const length = Math.min(1 + below(prng, lengthMax), bytes.length - at)
  change(bytes.subarray(at, at + length))
  files.set(path, bytes)
  return `${path} at ${at}, ${length} bytes`
}

/** As a disk goes: here and there. */
function flipAllOver(files: Map<string, Buffer>, prng: Prng): string {
  const path = pick(files, prng)
  const bytes = Buffer.from(files.get(path)!)
  const most = Math.max(1, contentEnd(bytes))
  const places = Array.from({ length: Math.min(bytes.length, 2 + below(prng, 8)) }, () => below(prng, most))
  for (const at of places) bytes[at]! ^= 1 << below(prng, 8)
  files.set(path, bytes)
  return `${path} at ${places.join(' ')}`
}

/** Few bytes, on which much depends: they would seldom be met by chance. */
function flipInHeader(files: Map<string, Buffer>, prng: Prng): string {
  const path = pick(files, prng)
  const bytes = Buffer.from(files.get(path)!)
  if (bytes.length === 0) return path
  const at = below(prng, Math.min(bytes.length, 44))
  bytes[at]! ^= 1 << below(prng, 8)
  files.set(path, bytes)
  return `${path} at ${at}`
}

/** What a crash does to what was not synced. */
function zeroEnd(files: Map<string, Buffer>, prng: Prng): string {
  const path = pick(files, prng)
  const bytes = Buffer.from(files.get(path)!)
  const at = below(prng, Math.max(1, contentEnd(bytes)))
  files.set(path, bytes.fill(0, at))
  return `${path} from ${at}`
}

function cut(files: Map<string, Buffer>, prng: Prng): string {
  const path = pick(files, prng)
  const bytes = files.get(path)!
  const length = below(prng, Math.max(1, bytes.length))
  files.set(path, bytes.subarray(0, length))
  return `${path} to ${length} bytes`
}

function lengthen(files: Map<string, Buffer>, prng: Prng): string {
  const path = pick(files, prng)
  const more = 1 + below(prng, 5000)
  files.set(path, Buffer.concat([files.get(path)!, Buffer.alloc(more, below(prng, 256))]))
  return `${path} by ${more} bytes`
}

function remove(files: Map<string, Buffer>, prng: Prng): string {
  const path = pick(files, prng)
  files.delete(path)
  return path
}

function swap(files: Map<string, Buffer>, prng: Prng): string {
  const [one, other] = [pick(files, prng), pick(files, prng)]
  const bytes = files.get(one)!
  files.set(one, files.get(other)!)
  files.set(other, bytes)
  return `${one} and ${other}`
}

function copyOver(files: Map<string, Buffer>, prng: Prng): string {
  const [from, to] = [pick(files, prng), pick(files, prng)]
  files.set(to, files.get(from)!)
  return `${from} over ${to}`
}

function moveBlock(files: Map<string, Buffer>, prng: Prng): string {
  const [from, to] = [pick(files, prng), pick(files, prng)]
  const source = files.get(from)!
  const target = Buffer.from(files.get(to)!)
  const blocks = (bytes: Buffer): number => Math.max(1, Math.floor(bytes.length / 4096))
  const [at, place] = [4096 * below(prng, blocks(source)), 4096 * below(prng, blocks(target))]
  source.copy(target, place, at, Math.min(at + 4096, source.length))
  files.set(to, target)
  return `${from} at ${at} to ${to} at ${place}`
}
