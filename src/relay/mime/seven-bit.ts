/** A message in seven bits, for a server that takes no eight.
 * Invariant: the same walk over the structure is made twice: first to find the bodies with octets
 * over 127, then to write. So a message whose signature would break, or whose structure cannot be
 * followed, is refused before a server hears of it. Memory is bounded by one header.
 * @see Postfix mime_state.c, MIME_OPT_DOWNGRADE */
import { isAscii, isUtf8 } from 'node:buffer'
import { saysEightBit, shapeOf, withEncoding, type Shape } from './entity-header.js'
import { Lines, type LineChunk } from './lines.js'
import { QuotedPrintable } from './quoted-printable.js'

/** More levels, or octets of a header, are no mail that people send. */
const depthMax = 100
const headerBytesMax = 256 << 10

/** Why a message has no form in seven bits. */
export class NoSevenBitForm extends Error {}

/** What a first walk has found. */
export interface SevenBitPlan {
  /** Bodies, by their number in the order of the data, that have octets over 127. */
  readonly eightBit: ReadonlySet<number>
  /** Every one of these bodies is UTF-8. */
  readonly isUtf8: boolean
}

interface Multipart {
  readonly boundary: string
  readonly isSigned: boolean
  readonly isDigest: boolean
}

/** One walk. Without a plan nothing is written. */
class Walk {
  readonly #plan: SevenBitPlan | undefined
  readonly eightBit = new Set<number>()
  isUtf8 = true
  readonly #lines = new Lines()
  readonly #stack: Multipart[] = []
  /** Of the entity whose header is read; undefined in a body. */
  #header: Buffer[] | undefined = []
  #headerBytes = 0
  /** The header stands behind a boundary, and not at the beginning of a message. */
  #isPart = false
  #entity = 0
  #shape: Shape = { kind: 'leaf', encoding: 'none' }
  #quoted = new QuotedPrintable()

  constructor(plan?: SevenBitPlan) {
    this.#plan = plan
  }

  push(piece: Buffer): Buffer {
    return Buffer.concat(this.#lines.push(piece).map((chunk) => this.#chunk(chunk)))
  }

  end(): Buffer {
    const rest = this.#lines.end().map((chunk) => this.#chunk(chunk))
    return Buffer.concat([...rest, this.#header === undefined ? nothing : this.#headerEnds()])
  }

  #chunk(chunk: LineChunk): Buffer {
    const { octets, isStart, isEnd } = chunk
    const boundary = isStart && isEnd ? this.#boundaryAt(octets) : undefined
    if (boundary !== undefined) return this.#boundary(octets, boundary)
    if (this.#header === undefined) return this.#body(chunk)
    if (isStart && isEnd && octets.length === 0) return Buffer.concat([this.#headerEnds(), lineEnd])
    this.#headerBytes += octets.length
    if (this.#headerBytes > headerBytesMax) throw new NoSevenBitForm('a header that is too long')
    this.#header.push(octets)
    if (isEnd) this.#header.push(lineEnd)
    return nothing
  }

  /** @returns which multipart's, counted from the outermost */
  #boundaryAt(octets: Buffer): number | undefined {
    if (this.#stack.length === 0 || octets[0] !== dash || octets[1] !== dash) return undefined
    // A regular expression takes quadratic time for blanks that do not end the line.
    let end = octets.length
    while (octets[end - 1] === 0x20 || octets[end - 1] === 0x09) end--
    const line = octets.toString('latin1', 0, end)
    const at = this.#stack.findLastIndex(
      ({ boundary }) => line === `--${boundary}` || line === `--${boundary}--`,
    )
    return at < 0 ? undefined : at
  }

  #boundary(octets: Buffer, at: number): Buffer {
    const before = this.#header === undefined ? nothing : this.#headerEnds()
    const { boundary } = this.#stack[at]!
    this.#stack.length = at + 1
    const isLast = octets.toString('latin1').startsWith(`--${boundary}--`)
    if (isLast) this.#stack.pop()
    this.#entity++
    this.#header = isLast ? undefined : []
    this.#isPart = !isLast
    this.#headerBytes = 0
    // What stands behind the last boundary is of no part, as what stands before the first.
    this.#shape = outside
    return Buffer.concat([before, octets, lineEnd])
  }

  /** The empty line, or what stands in its place, comes next. */
  #headerEnds(): Buffer {
    const header = Buffer.concat(this.#header ?? [])
    const isRoot = this.#entity === 0
    this.#header = undefined
    this.#headerBytes = 0
    this.#quoted = new QuotedPrintable()
    const shape = (this.#shape = shapeOf(header, this.#isPart && this.#stack.at(-1)?.isDigest === true))
    this.#isPart = false
    const entity = this.#entity
    const isCovered = this.#isCovered
    if (shape.kind === 'parts') {
      if (this.#stack.length === depthMax) throw new NoSevenBitForm('too many parts within parts')
      const isSigned = shape.isSigned || isCovered
      this.#stack.push({ boundary: shape.boundary, isSigned, isDigest: shape.isDigest })
      this.#shape = outside
    }
    if (shape.kind === 'message') {
      this.#header = []
      this.#entity++
    }
    if (this.#plan === undefined || isCovered) return this.#plan === undefined ? nothing : header
    const isQuoted = shape.kind === 'leaf' && shape.encoding === 'none' && this.#plan.eightBit.has(entity)
    const charset = isRoot ? (this.#plan.isUtf8 ? 'utf-8' : 'unknown-8bit') : undefined
    if (isQuoted) return withEncoding(header, 'quoted-printable', charset)
    return saysEightBit(header) ? withEncoding(header, '7bit', undefined) : header
  }

  /** By a signature: no octet of it may change. */
  get #isCovered(): boolean {
    return this.#stack.at(-1)?.isSigned === true
  }

  #body(chunk: LineChunk): Buffer {
    const { octets, isEnd } = chunk
    if (this.#plan === undefined) this.#look(chunk)
    const shape = this.#shape
    const isTouched = this.#plan?.eightBit.has(this.#entity) === true
    const asItStands = isEnd ? Buffer.concat([octets, lineEnd]) : octets
    if (!isTouched) return this.#plan === undefined ? nothing : asItStands
    // Before the first boundary and behind the last nobody looks.
    if (shape === outside || (shape.kind === 'leaf' && shape.encoding === 'base64'))
      return asItStands.filter((octet) => octet < 0x80) as Buffer
    const isQuoted = shape.kind === 'leaf' && shape.encoding === 'quoted-printable'
    return Buffer.from(this.#quoted.chunk(octets, isEnd, isQuoted))
  }

  #look(chunk: LineChunk): void {
    if (isAscii(chunk.octets)) return
    if (this.#isCovered)
      throw new NoSevenBitForm('a part that is signed, and a conversion breaks the signature')
    if (this.#shape.kind === 'closed') throw new NoSevenBitForm('a part of a type that has no encoding')
    this.eightBit.add(this.#entity)
    this.isUtf8 &&= isUtf8(wholeCharacters(chunk))
  }
}

/** Of a line in several chunks each may begin and end within a character. */
function wholeCharacters({ octets, isStart, isEnd }: LineChunk): Buffer {
  const isInner = (octet: number | undefined): boolean => octet !== undefined && (octet & 0xc0) === 0x80
  let start = 0
  while (!isStart && start < characterBytesMax - 1 && isInner(octets[start])) start++
  let end = octets.length
  while (!isEnd && end > octets.length - characterBytesMax && octets[end - 1]! > 0x7f) end--
  return octets.subarray(start, end)
}

/** Of UTF-8. */
const characterBytesMax = 4
const dash = 0x2d
const nothing: Buffer = Buffer.alloc(0)
const lineEnd: Buffer = Buffer.from('\r\n')
const outside: Shape = { kind: 'leaf', encoding: 'none' }

type Pieces = Iterable<Buffer> | AsyncIterable<Buffer>

async function areAscii(data: Pieces): Promise<boolean> {
  for await (const piece of data) if (!isAscii(piece)) return false
  return true
}

/** @param read the data, from their beginning each time: most have no octet over 127, which is seen
 * a hundred times faster than by a walk
 * @returns undefined when no body has octets over 127. @throws NoSevenBitForm */
export async function sevenBitPlan(read: () => Pieces): Promise<SevenBitPlan | undefined> {
  if (await areAscii(read())) return undefined
  const walk = new Walk()
  for await (const piece of read()) walk.push(piece)
  walk.end()
  const { eightBit, isUtf8: isAllUtf8 } = walk
  return eightBit.size === 0 ? undefined : { eightBit, isUtf8: isAllUtf8 }
}

/** @param data the same as the plan was made of */
export async function* inSevenBits(data: Pieces, plan: SevenBitPlan): AsyncGenerator<Buffer> {
  const walk = new Walk(plan)
  for await (const piece of data) yield walk.push(piece)
  yield walk.end()
}
