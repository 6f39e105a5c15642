/** A finding: something wrong with a queue on disk, its place, and its cost.
 * Invariant: damage is collected and reported, never thrown, because the valid rest
 * is still of use. */
import { thrownText } from '../../base/realms.js'
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
  /** Bytes that cannot be read as records; 0 if unknown. */
  readonly bytes: number
  readonly reason: string
  /** Its cost. */
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

/** @param place used if the error does not name a place
 * @throws every error that is no damage: bugs of ours, and errors of the disk except for a path
 * that is missing, is no file, or cannot be read */
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

/** The place in the error, completed by the reader's if both name the same log. */
function nearest(place: Place, own: Place): Place {
  if (own.path !== undefined) return placeOfPath(own.path)
  return own.log === undefined || own.log === place.log ? { ...place, ...own } : own
}

const placeOf = (error: unknown): Place => (isWaybillError(error) ? error.place : {})

/** A part of a file that the disk refuses. Its cost is reported by the reader that needs it. */
export const refusalFinding = ({ path, offsetBytes, bytes }: RefusedStretch): Finding => ({
  log: path,
  ...placeOfPath(path),
  offsetBytes,
  bytes,
  reason: refusedWith('EIO'),
  lost: 'the bytes there',
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
  return thrownText(error).replace(/ \((?:directory|log|path|id) .*\)$/, '')
}

/** Does the error mean that the bytes on disk are not those written? A broken invariant is damage,
 * too: this code wrote none of the records. */
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

/** Of a missing file, of a name that is no file (a directory, a pipe, a socket), and of an
 * unreadable file. */
const missingErrnos: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'EISDIR', 'ESPIPE', 'ENXIO', 'EIO'])

export const isMissing = (error: unknown): error is WaybillError =>
  isWaybillError(error, 'DISK_FAILED') && missingErrnos.has(error.place.errno ?? '')

/** The same trouble at the same place. */
export const isSame = (one: Finding, other: Finding): boolean =>
  one.log === other.log &&
  one.segment === other.segment &&
  one.offsetBytes === other.offsetBytes &&
  one.reason === other.reason
