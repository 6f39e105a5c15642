/** Something that is wrong with a queue on disk: where, what, and what it costs. Damage is collected and reported, never thrown:
 * what else verifies is still of use. */
import { InvariantError } from '../../base/assert.js'
import type { Position } from '../../base/position.js'
import { isWaybillError, type ErrorCode, type Place, type WaybillError } from '../../errors.js'
import type { SegmentFiles } from '../../log/segment-files.js'
import { segmentIndexOf } from '../../log/segment.js'
import type { RefusedStretch } from './refused-blocks.js'

export interface Finding {
  /** `journal`, `lane 2 envelopes`, `lane 2 data`, or the path of another file. */
  readonly log: string
  readonly segment?: number | undefined
  /** Of the first byte that does not verify. */
  readonly offsetBytes?: number | undefined
  /** Bytes that cannot be read as records; 0 when that is not known. */
  readonly bytes: number
  readonly reason: string
  /** What is lost by it. */
  readonly lost: string
}

export type Report = (finding: Finding) => void

export const lostNothing = 'nothing, but the queue does not open'

/** Damage at a place of a log. */
export const damageAt = (
  files: SegmentFiles,
  at: Position,
  bytes: number,
  reason: string,
  lost: string,
): Finding => ({
  log: files.name,
  segment: files.grid.indexOf(at),
  offsetBytes: files.grid.offsetOf(at),
  bytes,
  reason,
  lost,
})

/** @param place where it is when the error does not say so itself
 * @throws what is no damage: bugs of ours, and a disk that answers with anything but that the file is not there, is none, or cannot be read */
export function findingOf(error: unknown, place: Place, lost: string): Finding {
  if (!isDamage(error)) throw error
  const { log, segment, offsetBytes, path, position } = nearest(place, placeOf(error))
  return {
    log: log ?? path ?? 'queue',
    segment,
    offsetBytes: offsetBytes ?? position,
    bytes: 0,
    reason: reasonOf(error),
    lost,
  }
}

/** What the error knows of its place; what it leaves open, if it speaks of the same log, is that of the reader. */
function nearest(place: Place, own: Place): Place {
  if (own.path !== undefined) return placeOfPath(own.path)
  return own.log === undefined || own.log === place.log ? { ...place, ...own } : own
}

const placeOf = (error: unknown): Place => (isWaybillError(error) ? error.place : {})

/** What a disk refuses of a file. What that costs is told by who needs it. */
export const refusalFinding = ({ path, offsetBytes, bytes }: RefusedStretch): Finding => ({
  log: path,
  ...placeOfPath(path),
  offsetBytes,
  bytes,
  reason: refusedWith('EIO'),
  lost: 'what stands there',
})

/** A file as a whole; of a segment, where it starts. */
function placeOfPath(path: string): Place {
  const match = /^(?:journal|lanes\/(\d+)\/(envelopes|data))\/([^/]*)$/.exec(path)
  const segment = segmentIndexOf(match?.[3] ?? '')
  if (segment === undefined) return { path }
  const log = match?.[1] === undefined ? 'journal' : `lane ${match[1]} ${match[2]}`
  return { log, segment, offsetBytes: 0 }
}

const refusedWith = (errno: string): string => `the disk refused to read it: ${errno}`

export function reasonOf(error: unknown): string {
  const { errno } = placeOf(error)
  if (errno === 'ENOENT') return 'the file is missing'
  if (errno === 'EIO') return refusedWith(errno)
  return (error instanceof Error ? error.message : String(error)).replace(
    / \((?:directory|log|path|id) .*\)$/,
    '',
  )
}

/** Says that what lies on disk is not what was written. An invariant that records break is damage too: this code wrote none of them. */
export function isDamage(error: unknown): error is Error {
  if (error instanceof InvariantError) return true
  if (!isWaybillError(error)) return false
  return damageCodes.has(error.code) || isMissing(error)
}

const damageCodes: ReadonlySet<ErrorCode> = new Set([
  'LOG_CORRUPT',
  'DATA_CORRUPT',
  'FORMAT_NEWER',
  'NOT_A_QUEUE',
])

/** Of a file that is not there, of what is none (a directory, a pipe, a socket), and of one that cannot be read. */
const missingErrnos: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'EISDIR', 'ESPIPE', 'ENXIO', 'EIO'])

export const isMissing = (error: unknown): error is WaybillError =>
  isWaybillError(error, 'DISK_FAILED') && missingErrnos.has(error.place.errno ?? '')

/** The same trouble at the same place. */
export const isSame = (one: Finding, other: Finding): boolean =>
  one.log === other.log &&
  one.segment === other.segment &&
  one.offsetBytes === other.offsetBytes &&
  one.reason === other.reason
