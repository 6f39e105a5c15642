/** The dump of ZMailer's MAILQ port, `version zmailer 1.0`: written, and read. Pure.
 * A vertex is the part of a message that goes to one channel and host: our transport and nexthop.
 * Its file is the message's id, its offsets are the recipients' indexes in the message.
 * Invariant: a word is printable and has no blank, a text has no line end, whatever a message or a
 * remote server says; what is read is checked, and bounded by the caller. */
import { isIn } from '../base/ranges.js'
import { reasonText } from '../base/remote-reply.js'
import type { ListedMessage } from '../admin/select/listing.js'
import { WaybillError } from '../errors.js'
import type { Reading } from './reading.js'

export interface Vertex {
  readonly key: number
  readonly file: string
  readonly offsets: readonly number[]
  /** Why they wait; '' where nothing is known. */
  readonly text: string
  readonly channel: string
  readonly host: string
}

const firstLine = 'version zmailer 1.0'
/** Of a recipient without a route. */
const noWord = '-'
/** Ends the text of the last vertex of a dump that has not all. */
export const cutText = '(more mail waits, and is not listed)'

export function dumpOf({ messages, isCut }: Reading): string {
  const vertices: Vertex[] = []
  for (const message of messages) addVertices(vertices, message)
  const lines = [firstLine, 'Vertices:']
  for (const [i, { key, file, offsets, text }] of vertices.entries()) {
    const told = isCut && i === vertices.length - 1 ? `${text} ${cutText}`.trimStart() : text
    lines.push(`${key}:\t${file}\t${offsets.length}; ${offsets.join(',')}\t${told === '' ? '' : `#${told}`}`)
  }
  if (vertices.length > 0) {
    lines.push('Channels:', ...groups(vertices, 'channel'))
    lines.push('Hosts:', ...groups(vertices, 'host'))
  }
  return `${lines.join('\n')}\n`
}

function addVertices(vertices: Vertex[], { id, routed = [], notes }: ListedMessage): void {
  const ways = new Map<string, { channel: string; host: string; offsets: number[] }>()
  for (const { index, route } of routed) {
    const channel = wordOf(route?.transport)
    const host = wordOf(route?.nexthop)
    const name = `${channel} ${host}`
    const way = ways.get(name) ?? { channel, host, offsets: [] }
    way.offsets.push(index)
    ways.set(name, way)
  }
  for (const { channel, host, offsets } of ways.values()) {
    const note = notes.find(({ ranges }) => offsets.some((index) => isIn(ranges, index)))
    const text = note === undefined ? '' : oneLine(reasonText(note.status, note.text, note.remote))
    vertices.push({ key: vertices.length + 1, file: id, offsets, text, channel, host })
  }
}

function groups(vertices: readonly Vertex[], of: 'channel' | 'host'): string[] {
  const keys = new Map<string, number[]>()
  for (const vertex of vertices) {
    const list = keys.get(vertex[of])
    if (list === undefined) keys.set(vertex[of], [vertex.key])
    else list.push(vertex.key)
  }
  return Array.from(keys, ([word, list]) => `${word}:\t${list.map((key) => `>${key}`).join('')}`)
}

const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu
const oneLine = (text: string): string => text.replace(unsafe, '?')
const wordOf = (name: string | undefined): string =>
  name === undefined || name === '' ? noWord : oneLine(name).replaceAll(/\s/gu, '?')

const vertexLine = /^(\d{1,15}):\s*(\S+)\t(\d{1,9}); *(\d{1,15}(?:,\d{1,15})*)\t?(?:#(.*))?$/
const groupLine = /^(\S+):\s*((?:>\s*\d{1,15}\s*)+)$/

/** Of any program that speaks the format.
 * @throws WaybillError OPTION_INVALID where it is not that */
export function readDump(text: string): Vertex[] {
  const [first, ...lines] = text.split('\n')
  if (first?.startsWith('version ') !== true) throw noDump('there is no MAILQ port')
  if (first !== firstLine) throw noDump(`it speaks '${oneLine(first.slice(0, 80))}', and not '${firstLine}'`)
  const vertices = new Map<number, Vertex>()
  let section: 'channel' | 'host' | undefined
  let hasBegun = false
  for (const line of lines) {
    if (line === '') continue
    if (line === 'Vertices:') hasBegun = true
    else if (line === 'Channels:') section = 'channel'
    else if (line === 'Hosts:') section = 'host'
    else if (section === undefined) takeVertex(vertices, line)
    else takeGroup(vertices, section, line)
  }
  if (!hasBegun) throw noDump('it ends before its first section')
  return [...vertices.values()]
}

function takeVertex(vertices: Map<number, Vertex>, line: string): void {
  const [, key, file, count, offsets, text = ''] = vertexLine.exec(line) ?? []
  const list = offsets?.split(',').map(Number) ?? []
  if (file === undefined || list.length !== Number(count)) throw noLine(line)
  const vertex = { file: oneLine(file), offsets: list, text: oneLine(text), channel: noWord, host: noWord }
  vertices.set(Number(key), { key: Number(key), ...vertex })
}

function takeGroup(vertices: Map<number, Vertex>, section: 'channel' | 'host', line: string): void {
  const [, word, keys] = groupLine.exec(line) ?? []
  if (word === undefined || keys === undefined) throw noLine(line)
  for (const key of keys.split('>').slice(1)) {
    const vertex = vertices.get(Number(key))
    if (vertex === undefined) throw noLine(line)
    vertices.set(vertex.key, { ...vertex, [section]: oneLine(word) })
  }
}

const noDump = (reason: string): WaybillError =>
  new WaybillError('OPTION_INVALID', reason, { option: 'from' })
const noLine = (line: string): WaybillError =>
  noDump(`a line is not of '${firstLine}': ${oneLine(line.slice(0, 80))}`)
