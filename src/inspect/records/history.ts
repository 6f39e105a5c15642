/** All records about one message that are still on disk.
 * Only envelopes hold a message's id; a start names the envelope's place, and all other records
 * name the start. */
import type { Position } from '../../base/position.js'
import { isWaybillError } from '../../errors.js'
import { decodeDelivery } from '../../record/delivery.js'
import { decodeEnvelope } from '../../record/envelope.js'
import { decodeFinish } from '../../record/finish.js'
import { decodeReplaced } from '../../record/replaced.js'
import { decodeStart } from '../../record/start.js'
import { findingOf, type Report } from '../damage/finding.js'
import { readLog } from './log-reader.js'
import type { QueueDirectory } from '../queue/queue-directory.js'
import type { LoggedRecord } from './records.js'
import type { Snapshot } from '../queue/snapshot.js'

/** Bound of kept records: a message has a few for each attempt. */
const historyCountMax = 100_000

/** In order of time; those of one time in a possible order of events. */
export async function historyOf(
  directory: QueueDirectory,
  snapshot: Snapshot,
  id: string,
  report: Report,
  onProgress?: (readBytes: number) => void,
): Promise<readonly LoggedRecord[]> {
  const found: LoggedRecord[] = []
  const add = (record: LoggedRecord): void => {
    if (found.length < historyCountMax) found.push(record)
  }
  const own = new OwnRecords(snapshot, id)
  const logs = await directory.logs(snapshot.lanes)
  // Lanes first, because the journal's starts name places in them.
  const ordered = [
    ...logs.filter(({ name }) => name.endsWith('/envelopes')),
    ...logs.filter(({ name }) => name === 'journal'),
  ]
  for (const { name } of ordered)
    for await (const batch of readLog(directory, snapshot, { name }, report, onProgress))
      for (const record of batch)
        try {
          if (own.has(record)) add(record)
        } catch (error) {
          if (!isWaybillError(error, 'LOG_CORRUPT')) throw error
          report(
            findingOf(
              error,
              { log: record.log, segment: record.segment, offsetBytes: record.offset },
              'a record',
            ),
          )
        }
  const order = (record: LoggedRecord): number => (record.log === 'journal' ? 1 : 0)
  return found.sort((a, b) => a.timeMs - b.timeMs || order(b) - order(a) || a.position - b.position)
}

/** Knows the records of one message, when they are shown in the order of their logs. */
class OwnRecords {
  readonly #snapshot: Snapshot
  readonly #id: string
  readonly #idBytes: Buffer
  /** Places of its envelopes. */
  readonly #places = new Set<string>()
  readonly #starts = new Set<Position>()

  constructor(snapshot: Snapshot, id: string) {
    this.#snapshot = snapshot
    this.#id = id
    this.#idBytes = Buffer.from(id)
  }

  /** @throws WaybillError LOG_CORRUPT */
  has(record: LoggedRecord): boolean {
    const { kind, payload } = record
    switch (kind) {
      case 'envelope':
        return this.#hasEnvelope(record)
      case 'start':
        return this.#hasStart(record)
      case 'delivery':
        return this.#starts.has(decodeDelivery(payload).start)
      case 'finish':
        return this.#starts.has(decodeFinish(payload).start)
      case 'replaced':
        return this.#starts.has(decodeReplaced(payload).start)
      case 'data':
      case 'recipients':
      case 'marks':
      case 'checkpoint':
      case 'commit':
      case 'pad':
      case 'keys':
      case 'outcome':
        return false
    }
  }

  #hasEnvelope({ payload, lane, log, position }: LoggedRecord): boolean {
    if (!payload.includes(this.#idBytes)) return false
    const { id } = decodeEnvelope(payload)
    // A report on it has its id and a number.
    if (id !== this.#id && !id.startsWith(`${this.#id}-`)) return false
    if (id === this.#id) this.#places.add(`${log === 'journal' ? 'journal' : lane} ${position}`)
    return true
  }

  #hasStart({ payload, lane, position }: LoggedRecord): boolean {
    const { envelope, carried } = decodeStart(payload)
    const inJournal = this.#snapshot.lanes.find((view) => view.lane === lane)?.inJournal ?? lane === 0
    const isOwn =
      this.#places.has(`${inJournal ? 'journal' : lane} ${envelope}`) ||
      (carried !== undefined && this.#starts.has(carried.start))
    if (isOwn) this.#starts.add(position as Position)
    return isOwn
  }
}
