/** `backup.json`, the last file of a backup: a copy without it was cut short. */
import { WaybillError } from '../errors.js'

export const manifestName = 'backup.json'
/** Longer than any that is written. */
export const manifestBytesMax = 4096
const manifestVersion = 1

export interface Manifest {
  /** The moment that the copy is of, milliseconds since 1970. */
  readonly atMs: number
  /** Where the journal ends. */
  readonly journalEnd: number
  /** Files, without this one, and bytes of their content. */
  readonly fileCount: number
  readonly bytes: number
  /** Number of the last outcome; undefined: nobody has consumed any. */
  readonly outcome: number | undefined
}

export function encodeManifest({ atMs, journalEnd, fileCount, bytes, outcome }: Manifest): Buffer {
  const at = new Date(atMs).toISOString()
  return Buffer.from(
    `${JSON.stringify({ backup: manifestVersion, at, journalEnd, files: fileCount, bytes, outcome })}\n`,
  )
}

/** @throws WaybillError NOT_A_QUEUE, FORMAT_NEWER */
export function decodeManifest(text: string): Manifest {
  const place = { path: manifestName }
  let fields: Partial<Record<string, unknown>>
  try {
    fields = JSON.parse(text) as Partial<Record<string, unknown>>
  } catch (cause) {
    throw new WaybillError('NOT_A_QUEUE', `${manifestName} is not JSON`, place, cause)
  }
  const { backup, at, journalEnd, files, bytes, outcome } = fields ?? {}
  if (typeof backup === 'number' && backup > manifestVersion)
    throw new WaybillError(
      'FORMAT_NEWER',
      `the backup has version ${backup}, this program knows ${manifestVersion}`,
      place,
    )
  const atMs = typeof at === 'string' ? Date.parse(at) : NaN
  const isRight =
    backup === manifestVersion &&
    Number.isFinite(atMs) &&
    [journalEnd, files, bytes].every((count) => Number.isSafeInteger(count)) &&
    (outcome === undefined || Number.isSafeInteger(outcome))
  if (!isRight) throw new WaybillError('NOT_A_QUEUE', `${manifestName} is not that of a backup`, place)
  return {
    atMs,
    journalEnd: journalEnd as number,
    fileCount: files as number,
    bytes: bytes as number,
    outcome: outcome as number | undefined,
  }
}
