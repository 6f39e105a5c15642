/** Reads which records stand at a place of a disk, and which messages depend on them, before the
 * bit flips.
 * It uses an inspection, which shares no reader of lanes with the engine.
 * Invariant: the bit can harm no message that is not named here. */
import { position, type Position } from '../../base/position.js'
import { Messages } from '../../inspect/messages/messages.js'
import { QueueDirectory, directoryOf, type LogName } from '../../inspect/queue/queue-directory.js'
import type { QueuedMessage } from '../../inspect/messages/queued-message.js'
import { readLog } from '../../inspect/records/log-reader.js'
import type { LoggedRecord } from '../../inspect/records/records.js'
import { takeSnapshot, type Snapshot } from '../../inspect/queue/snapshot.js'
import { segmentHeaderBytes, segmentIndexOf, segmentName } from '../../log/segment.js'
import { decodeCheckpoint, type Checkpoint } from '../../record/checkpoint.js'
import { decodeDelivery } from '../../record/delivery.js'
import { decodeEnvelope, type Envelope } from '../../record/envelope.js'
import { decodeFinish } from '../../record/finish.js'
import { decodeReplaced } from '../../record/replaced.js'
import { decodeStart } from '../../record/start.js'
import { spoolPath } from '../../directory/paths.js'
import type { DiskImage } from '../disk/disk-image.js'
import { SimDisk } from '../disk/sim-disk.js'
import { SimWorld } from '../world/world.js'

/** Messages are called as the model calls them. */
export interface Witness {
  /** Of which a frame, or the file, is there. */
  readonly touched: ReadonlySet<string>
  /** Messages in the lane at this place or behind it, which a reader in order does not
   * reach; by lane. */
  readonly behind: ReadonlyMap<number, ReadonlySet<string>>
  /** The place is in the last batch, which is cut; and the messages with a record in it. */
  readonly isInLastBatch: boolean
  readonly ofLastBatch: ReadonlySet<string>
  /** Where each waits. */
  readonly laneOf: ReadonlyMap<string, number>
}

const nothing: Witness = {
  touched: new Set(),
  behind: new Map(),
  isInLastBatch: false,
  ofLastBatch: new Set(),
  laneOf: new Map(),
}

/** @param path of a segment or a spool file, @param offset of the byte in it */
export function witnessOf(image: DiskImage, path: string, offset: number): Promise<Witness> {
  const world = new SimWorld({ seed: 1, order: 'fifo' })
  const disk = new SimDisk(world, { image })
  return world.settle(look(disk, path, offset).finally(() => disk.abandon()))
}

export interface BatchPlace {
  readonly path: string
  /** Of its first byte in the file. */
  readonly offset: number
  readonly bytes: number
}

/** Where the last batch of the journal stands; undefined when there is none. */
export function lastBatchOf(image: DiskImage): Promise<BatchPlace | undefined> {
  const world = new SimWorld({ seed: 1, order: 'fifo' })
  const disk = new SimDisk(world, { image })
  return world.settle(lookForLast(disk).finally(() => disk.abandon()))
}

async function lookForLast(disk: SimDisk): Promise<BatchPlace | undefined> {
  const directory = await QueueDirectory.open(disk, ignore)
  const journal = directory && (await takeSnapshot(directory)).journal
  if (journal === undefined || journal.lastBatchBytes === 0) return undefined
  const { newest, end, lastBatchBytes: bytes, files } = journal
  const offset = files.grid.offsetOf(position(end - bytes))
  return { path: `${directoryOf('journal')}/${segmentName(newest)}`, offset, bytes }
}

async function look(disk: SimDisk, path: string, offset: number): Promise<Witness> {
  const directory = await QueueDirectory.open(disk, ignore)
  if (directory === undefined) return nothing
  const snapshot = await takeSnapshot(directory)
  const place = placeOf(directory, path, offset)
  const log = place && (await logOf(directory, snapshot, place.log))
  const touched = new Set<string>()
  const behind = new Map<number, Set<string>>()
  const laneOf = new Map<string, number>()
  const isThere = ({ position: from, bytes }: Pick<LoggedRecord, 'position' | 'bytes'>): boolean =>
    place !== undefined && place.from < from + bytes && from < place.end
  const stop = place && stopOf(place, log ?? [])
  // Marks name skipped messages: without them it is unknown which of the lane wait.
  const isOfMarks = log?.some((record) => record.kind === 'marks' && isThere(record)) === true
  for await (const batch of new Messages(directory, snapshot, { report: ignore }).batches())
    for (const message of batch) {
      const name = nameOf(message.envelope)
      const lane =
        message.active?.replacement?.lane ?? (message.where === 'active' ? undefined : message.lane)
      if (lane !== undefined) laneOf.set(name, lane)
      const frames = framesOf(message, place?.log)
      const own = (log ?? []).filter(({ position: at }) => frames.includes(at))
      if (own.some(isThere) || isInSpool(message.envelope, path)) touched.add(name)
      if (lane === undefined || message.log !== place?.log) continue
      const last = own.at(-1)
      if (isOfMarks || last === undefined || stop! < last.position + last.bytes)
        behind.set(lane, (behind.get(lane) ?? new Set()).add(name))
    }
  const isInLast = place?.log === 'journal' && isInLastBatch(snapshot, place.from)
  return {
    touched,
    behind,
    laneOf,
    isInLastBatch: isInLast,
    ofLastBatch: isInLast ? await messagesOfLastBatch(directory, snapshot) : new Set(),
  }
}

/** A flipped bit makes its frame unreadable; in a header, the whole segment. */
interface RotPlace {
  readonly log: LogName
  readonly from: Position
  readonly end: Position
  readonly segmentFrom: Position
  readonly segmentBefore: Position
}

function placeOf(directory: QueueDirectory, path: string, offset: number): RotPlace | undefined {
  const [, folder = '', file = ''] = /^(.*)\/([^/]*)$/.exec(path) ?? []
  const index = segmentIndexOf(file)
  const log = folder === 'journal' ? folder : (folder.replace(/^lanes\//, '') as LogName)
  if (index === undefined || folder !== directoryOf(log)) return undefined
  const { grid } = directory.log(log)
  const at = grid.at(index, offset)
  const segments = { segmentFrom: grid.at(index, 0), segmentBefore: grid.at(Math.max(0, index - 1), 0) }
  return offset < segmentHeaderBytes
    ? { log, from: segments.segmentFrom, end: grid.at(index + 1, 0), ...segments }
    : { log, from: at, end: position(at + 1), ...segments }
}

/** Where a reader in order stops: at the place, or in the segment before if the place
 * names its end. */
function stopOf(
  { log, from, segmentFrom, segmentBefore }: RotPlace,
  records: readonly LoggedRecord[],
): Position {
  const isHeader = from === segmentFrom
  const first = records.find(({ kind, position: at }) => kind === 'commit' && at > segmentFrom)
  const isNamed =
    isHeader || (first !== undefined && first.position <= from && from < first.position + first.bytes)
  return log === 'journal' && isNamed ? segmentBefore : from
}

async function logOf(
  directory: QueueDirectory,
  snapshot: Snapshot,
  name: LogName,
): Promise<readonly LoggedRecord[]> {
  const records: LoggedRecord[] = []
  for await (const batch of readLog(directory, snapshot, { name }, ignore)) records.push(...batch)
  return records
}

/** Positions of a message's frames in one log. */
function framesOf({ envelope, log, lane, at }: QueuedMessage, asked: LogName | undefined): readonly number[] {
  const { data, recipientFrames } = envelope
  const frames: number[] = []
  if (log === asked) {
    if (data.kind === 'before') frames.push(at - data.distanceBytes)
    frames.push(...recipientFrames.map((distance) => at - distance), at)
  }
  if (data.kind === 'lane' && asked === `${lane}/data`) frames.push(data.position)
  return frames
}

const isInSpool = ({ data }: Envelope, path: string): boolean =>
  data.kind === 'spool' && spoolPath(data.number) === path

const isInLastBatch = ({ journal: { end, lastBatchBytes } }: Snapshot, at: Position): boolean =>
  at >= end - lastBatchBytes && at < end

/** Envelopes by their places, starts by their envelopes and by the starts that they take the
 * place of, the rest by starts. A checkpoint is a record of each message whose replacement it
 * makes trusted. */
async function messagesOfLastBatch(
  directory: QueueDirectory,
  snapshot: Snapshot,
): Promise<ReadonlySet<string>> {
  const { lanes } = snapshot
  const envelopes = new Map<string, string>()
  const starts = new Map<Position, string>()
  const found = new Set<string>()
  let trusted: Checkpoint | undefined
  const replacements: { readonly name: string; readonly lane: number; readonly end: Position }[] = []
  const logs = (await directory.logs()).filter(({ name }) => !name.endsWith('/data'))
  // The journal's starts name places in lanes.
  for (const { name } of logs.reverse())
    for (const record of await logOf(directory, snapshot, name)) {
      const { kind, payload, lane, position: at } = record
      const inJournal = lanes.find((view) => view.lane === lane)?.inJournal ?? lane === 0
      let names: readonly (string | undefined)[] = []
      if (kind === 'envelope') {
        const envelope = decodeEnvelope(payload)
        names = [nameOf(envelope), starts.get(envelope.replaces)]
        envelopes.set(`${name} ${at}`, nameOf(envelope))
      } else if (kind === 'start') {
        const { envelope, carried } = decodeStart(payload)
        const known = envelopes.get(`${inJournal ? 'journal' : `${lane}/envelopes`} ${envelope}`)
        names = [known ?? (carried && starts.get(carried.start))]
        if (names[0] !== undefined) starts.set(position(at), names[0])
      } else if (kind === 'delivery') names = [starts.get(decodeDelivery(payload).start)]
      else if (kind === 'finish') names = [starts.get(decodeFinish(payload).start)]
      else if (kind === 'replaced') {
        const { start, targetEnd: end } = decodeReplaced(payload)
        names = [starts.get(start)]
        if (names[0] !== undefined) replacements.push({ name: names[0], lane, end })
      } else if (kind === 'checkpoint' && isInLastBatch(snapshot, position(at)))
        names = replacements.filter(({ lane, end }) => !isTrusted(trusted, lane, end)).map(({ name }) => name)
      else if (kind === 'checkpoint') trusted = decodeCheckpoint(payload)
      if (name !== 'journal' || !isInLastBatch(snapshot, position(at))) continue
      for (const one of names) if (one !== undefined) found.add(one)
    }
  return found
}

const isTrusted = (checkpoint: Checkpoint | undefined, lane: number, end: Position): boolean =>
  checkpoint?.lanes.some((positions) => positions.lane === lane && end <= positions.envelopesEnd) === true

/** A report has no sender: its id is its name. */
const nameOf = ({ sender, id }: Envelope): string => (sender === '' ? id : sender)

const ignore = (): void => undefined
