/** The MIME parts of a message (RFC 2045), numbered as IMAP does: `1`, `2.1`; `0` for a multipart
 * that is the whole message.
 * Invariant: time and memory are bounded, whatever the message says of itself. A message that
 * exceeds a bound is shown as far as it was read, and `isTruncated`. */
import { isUtf8 } from 'node:buffer'
import type { Writable } from 'node:stream'
import type { MimeNode, MimePiece } from 'mailsplit'
import { isError } from '../../base/realms.js'

export interface MimePart {
  readonly part: string
  readonly type: string
  readonly charset: string | null
  readonly filename: string | null
  readonly disposition: string | null
  readonly encoding: string
  /** As it stands in the message, encoded. */
  readonly bytes: number
  readonly parts?: readonly MimePart[]
}

export interface MimeStructure {
  /** Fields of the message, decoded and unfolded. */
  readonly header: readonly { readonly name: string; readonly value: string }[]
  readonly tree: MimePart | null
  readonly isTruncated: boolean
}

const messageBytesMax = 10 * 1024 * 1024
const headBytesMax = 256 * 1024
const partsMax = 500
const depthMax = 20
const fieldsMax = 1000
const lineFeed = 10
export const textBytesMax: number = 1024 * 1024

interface GrowingPart extends Omit<MimePart, 'parts' | 'bytes'> {
  bytes: number
  parts?: GrowingPart[]
}

/** The parts that are met, in their order. */
class Parts {
  readonly #byNode = new Map<MimeNode, GrowingPart>()
  readonly #depths = new Map<MimeNode, number>()
  root: GrowingPart | undefined

  /** @returns undefined for one that is nested too deeply */
  add(node: MimeNode): GrowingPart | undefined {
    const parent = node.parentNode === false ? undefined : node.parentNode
    const depth = parent === undefined ? 1 : (this.#depths.get(parent) ?? depthMax) + 1
    if (depth > depthMax) return undefined
    const above = parent === undefined ? undefined : this.#byNode.get(parent)
    const part: GrowingPart = {
      part: numberOf(node, above),
      type: node.contentType || 'text/plain',
      charset: node.charset || null,
      filename: node.filename || null,
      disposition: node.disposition || null,
      encoding: node.encoding || '7bit',
      bytes: 0,
      ...(node.multipart === false ? undefined : { parts: [] }),
    }
    this.#byNode.set(node, part)
    this.#depths.set(node, depth)
    if (above === undefined) this.root ??= part
    else (above.parts ??= []).push(part)
    return part
  }

  of(node: MimeNode): GrowingPart | undefined {
    return this.#byNode.get(node)
  }
}

function numberOf(node: MimeNode, above: GrowingPart | undefined): string {
  if (above === undefined) return node.multipart === false ? '1' : '0'
  const index = (above.parts?.length ?? 0) + 1
  return above.part === '0' ? String(index) : `${above.part}.${index}`
}

/** @throws what `data` throws */
export async function structureOf(data: AsyncIterable<Buffer>): Promise<MimeStructure> {
  const parts = new Parts()
  let header: MimeStructure['header'] = []
  const isWhole = await split(data, (piece) => {
    if (piece.type === 'node') {
      if (piece.root) header = headerOf(piece)
      return parts.add(piece) !== undefined
    }
    const part = parts.of(piece.node)
    if (part !== undefined && piece.type === 'body') part.bytes += piece.value.length
    return true
  })
  return { header, tree: parts.root ?? null, isTruncated: !isWhole }
}

export interface DecodedPart {
  readonly type: string
  readonly charset: string | null
  readonly filename: string | null
  readonly data: Buffer
  /** There is more than `bytesMax`, or than is read of a message. */
  readonly isTruncated: boolean
}

/** @param number of the part @returns undefined when there is none
 * @throws what `data` throws */
export async function decodedPart(
  data: AsyncIterable<Buffer>,
  number: string,
  bytesMax: number,
): Promise<DecodedPart | undefined> {
  const parts = new Parts()
  let wanted: MimeNode | undefined
  const encoded: Buffer[] = []
  let bytes = 0
  // Base64 takes four octets for three, and line ends.
  const encodedMax = bytesMax * 3
  const isWhole = await split(data, (piece) => {
    if (piece.type === 'node') {
      const part = parts.add(piece)
      if (part?.part === number) wanted = piece
      return part !== undefined
    }
    if (piece.node !== wanted || piece.type !== 'body' || bytes >= encodedMax) return true
    bytes += piece.value.length
    encoded.push(piece.value)
    return true
  })
  if (wanted === undefined) return undefined
  const decoder = wanted.getDecoder()
  decoder.end(Buffer.concat(encoded))
  const decoded: Buffer[] = []
  for await (const piece of decoder as AsyncIterable<Buffer>) decoded.push(piece)
  const whole = Buffer.concat(decoded)
  return {
    type: wanted.contentType || 'text/plain',
    charset: wanted.charset || null,
    filename: wanted.filename || null,
    data: whole.subarray(0, bytesMax),
    isTruncated: !isWhole || bytes >= encodedMax || whole.length > bytesMax,
  }
}

/** A charset that nobody knows is read as UTF-8, and wrong octets as U+FFFD. */
export function textOf({ data, charset }: Pick<DecodedPart, 'data' | 'charset'>): string {
  try {
    return new TextDecoder(charset ?? 'utf-8').decode(data)
  } catch (error) {
    if (!(isError(error) && error.name === 'RangeError')) throw error
    return data.toString()
  }
}

function headerOf({ headers, libmime }: MimeNode): MimeStructure['header'] {
  return headers
    .getList()
    .slice(0, fieldsMax)
    .flatMap(({ line }) => {
      const colon = line.indexOf(':')
      const name = line.slice(0, Math.max(0, colon)).trim()
      const value = line
        .slice(colon + 1)
        .replace(/\r?\n(?=[ \t])/g, '')
        .trim()
      return name === '' ? [] : [{ name, value: decodedWords(unicode(value), libmime) }]
    })
}

/** A character for each octet, which may be UTF-8 (RFC 6532). */
function unicode(octets: string): string {
  const bytes = Buffer.from(octets, 'latin1')
  return isUtf8(bytes) ? bytes.toString() : octets
}

/** Words of RFC 2047; those of a charset that nobody knows stay as they are. */
function decodedWords(text: string, libmime: MimeNode['libmime']): string {
  try {
    return libmime.decodeWords(text)
  } catch {
    return text
  }
}

/** @param visit returns false to end it @returns whether all was visited */
async function split(data: AsyncIterable<Buffer>, visit: (piece: MimePiece) => boolean): Promise<boolean> {
  // Loaded by the first message that somebody looks into.
  const { Splitter } = await import('mailsplit')
  const splitter = new Splitter({
    ignoreEmbedded: true,
    maxHeadSize: headBytesMax,
    maxChildNodes: partsMax,
  })
  let isWhole = true
  const feed = async (): Promise<void> => {
    for await (const piece of inLines(data, () => (isWhole = false))) {
      if (splitter.destroyed) return
      if (!splitter.write(piece)) await whenRoom(splitter)
    }
    splitter.end()
  }
  const fed = feed()
  fed.catch((error: unknown) => splitter.destroy(error as Error))
  try {
    for await (const piece of splitter as AsyncIterable<MimePiece>)
      if (!visit(piece)) {
        isWhole = false
        break
      }
  } catch (error) {
    if (!isBound(error)) throw error
    isWhole = false
  } finally {
    splitter.destroy()
  }
  await fed
  return isWhole
}

/** The first `messageBytesMax` octets, each piece with its last line whole: the splitter takes no
 * boundary whose line end lies in two. @param onCut called when there is more */
async function* inLines(data: AsyncIterable<Buffer>, onCut: () => void): AsyncGenerator<Buffer> {
  let left = messageBytesMax
  let open: Buffer[] = []
  for await (const piece of data) {
    const taken = piece.subarray(0, left)
    left -= taken.length
    const end = taken.lastIndexOf(lineFeed) + 1
    if (end > 0) {
      yield Buffer.concat([...open, taken.subarray(0, end)])
      open = []
    }
    if (end < taken.length) open.push(taken.subarray(end))
    if (taken.length < piece.length) {
      onCut()
      break
    }
  }
  if (open.length > 0) yield Buffer.concat(open)
}

/** Settles when there is room for more, or the end. */
function whenRoom(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      stream.off('drain', done).off('close', done)
      resolve()
    }
    stream.on('drain', done).on('close', done)
  })
}

/** Of the splitter: too many parts, or too much header. */
const isBound = (error: unknown): boolean => isError(error) && 'code' in error && error.code === 'EMAXLEN'
