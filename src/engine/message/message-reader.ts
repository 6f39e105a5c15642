/** Reads the envelope, recipients and data of a message, in whatever log they stand. Data is
 * verified against the envelope's checksum each time, so that rot is met at the first reader and
 * never gets a fresh valid checksum by being copied. */
import { crc32 } from '../../base/checksum.js'
import { position, type Position } from '../../base/position.js'
import type { ActiveMessage, EnvelopePlace } from '../../active/active-message.js'
import type { ActiveSet } from '../../active/active-set.js'
import type { MessageData } from '../../delivery/transport.js'
import { WaybillError } from '../../errors.js'
import type { Lanes } from '../../lane/lanes.js'
import type { Journal } from '../../log/journal.js'
import type { Frame, SegmentFiles } from '../../log/segment-files.js'
import {
  decodeEnvelope,
  frameRecipientsMax,
  namesRecipients,
  type DataPlace,
  type Envelope,
} from '../../record/envelope.js'
import { decodeOrcpts, decodeRecipients } from '../../record/recipients.js'
import { frameHeaderBytes, type KindName } from '../../record/frame.js'
import { spoolPath } from '../../directory/paths.js'
import type { Spool } from './spool.js'

const pieceBytes = 256 * 1024

type StoredPlace = Exclude<DataPlace, { kind: 'ref' }>

type FramedMessage = Pick<ActiveMessage, 'envelope' | 'place'>

/** Recipients in their order. */
export interface Addressees {
  readonly addresses: string[]
  readonly orcpts: string[]
}

export class MessageReader {
  readonly #journal: Journal
  readonly #lanes: Lanes
  readonly #spool: Spool
  readonly #active: ActiveSet

  constructor(journal: Journal, lanes: Lanes, spool: Spool, active: ActiveSet) {
    this.#journal = journal
    this.#lanes = lanes
    this.#spool = spool
    this.#active = active
  }

  /** @throws WaybillError LOG_CORRUPT */
  async envelope(place: EnvelopePlace): Promise<Envelope> {
    const frame = await this.#frame(
      this.#envelopeLog(place.lane),
      place.position,
      place.bytes - frameHeaderBytes,
      'envelope',
    )
    return decodeEnvelope(frame.payload)
  }

  /** The whole data, verified. @throws WaybillError DATA_CORRUPT, LOG_CORRUPT, DISK_FAILED */
  async data(message: ActiveMessage): Promise<MessageData> {
    const { envelope } = message
    if (envelope.data.kind === 'ref') return { ref: envelope.data.ref }
    if (message.data !== undefined) {
      // The caller of submit() has its buffer for itself: what it writes there must not come out of
      // ours. What it has written there already does not verify, and the log has what was
      // submitted.
      const copy = Buffer.from(message.data)
      if (crc32(copy) === envelope.checksum) return copy
    }
    if (envelope.data.kind === 'spool' || !this.#active.isShared(message)) return this.loggedData(message)
    // Attempts that begin together share one reading.
    message.reading ??= this.#read(message, envelope.data).finally(() => (message.reading = undefined))
    const read = await message.reading
    const copy = this.#verified(message, Buffer.from(read))
    this.#active.keepRead(message, read)
    return copy
  }

  /** The same from where it is stored, of which nothing is kept in memory.
   * @throws as `data`; TypeError for a reference */
  async loggedData(message: ActiveMessage): Promise<Buffer> {
    const { data } = message.envelope
    if (data.kind === 'ref') throw new TypeError('the data of this message is a reference')
    return this.#verified(message, await this.#read(message, data))
  }

  /** @throws WaybillError DATA_CORRUPT */
  #verified(message: ActiveMessage, data: Buffer): Buffer {
    const { dataBytes, checksum } = message.envelope
    if (data.length !== dataBytes || crc32(data) !== checksum) throw this.#dataCorrupt(message)
    return data
  }

  /** The same in pieces, so that a hundred deliveries of large messages do not hold a hundred of
   * them. The last piece comes when all have verified: what has rotted is never whole.
   * @throws WaybillError DATA_CORRUPT, LOG_CORRUPT, DISK_FAILED; TypeError for a reference */
  async *pieces(message: ActiveMessage): AsyncGenerator<Buffer> {
    const { data: place, dataBytes, checksum } = message.envelope
    if (place.kind !== 'spool') {
      const data = await this.data(message)
      if (!Buffer.isBuffer(data))
        throw new TypeError('the data of this message is a reference: ask for data()')
      yield data
      return
    }
    let found = 0
    for (let at = 0; at < dataBytes;) {
      const piece = await this.#spool.read(place.number, Math.min(pieceBytes, dataBytes - at), at)
      found = crc32(piece, found)
      at += piece.length
      if (piece.length === 0 || (at === dataBytes && found !== checksum)) throw this.#dataCorrupt(message)
      yield piece
    }
  }

  /** The first `bytes` of the data, of which all verifies. @throws as `pieces` */
  async beginning(message: ActiveMessage, bytes: number): Promise<Buffer> {
    const kept: Buffer[] = []
    let left = bytes
    for await (const piece of this.pieces(message)) {
      if (left > 0) kept.push(piece.subarray(0, left))
      left -= piece.length
    }
    return Buffer.concat(kept)
  }

  /** Addresses of the recipients `from` … `from` + `count` − 1, as far as there are so many. */
  async recipients(message: FramedMessage, from: number, count: number): Promise<string[]> {
    return (await this.addressees(message, from, count)).addresses
  }

  /** The same, and what the sender gave as their original recipients (RFC 3461), '' where
   * nothing. */
  async addressees(message: FramedMessage, from: number, count: number): Promise<Addressees> {
    const { recipientFrames, dsn } = message.envelope
    if (recipientFrames.length === 0) {
      const named = namesRecipients(message.envelope) ? message.envelope : await this.envelope(message.place)
      const addresses = named.recipients.slice(from, from + count)
      return { addresses, orcpts: addresses.map((_, i) => named.dsn?.orcpts[from + i] ?? '') }
    }
    const addresses: string[] = []
    const orcpts: string[] = []
    await this.#framed(message, from, count, (payload, first, end) => {
      const part = decodeRecipients(payload).slice(first, end)
      const given = dsn === undefined ? [] : decodeOrcpts(payload)
      addresses.push(...part)
      orcpts.push(...part.map((_, i) => given[first + i] ?? ''))
      return part.length
    })
    return { addresses, orcpts }
  }

  /** The same of the recipients at `indexes`, ascending. */
  async addresseesAt(message: FramedMessage, indexes: readonly number[]): Promise<Addressees> {
    const addresses: string[] = []
    const orcpts: string[] = []
    let from = 0
    let read: Addressees = { addresses: [], orcpts: [] }
    for (const index of indexes) {
      if (index >= from + read.addresses.length) {
        from = index
        read = await this.addressees(message, from, frameRecipientsMax)
      }
      addresses.push(read.addresses[index - from]!)
      orcpts.push(read.orcpts[index - from]!)
    }
    return { addresses, orcpts }
  }

  /** Visits the frames in which some recipients stand. @param visit is given where in the frame
   * they are, and says how many it found */
  async #framed(
    { envelope, place }: FramedMessage,
    from: number,
    count: number,
    visit: (payload: Buffer, first: number, end: number) => number,
  ): Promise<void> {
    const end = Math.min(from + count, envelope.recipientCount)
    for (let at = from; at < end;) {
      const index = Math.floor(at / frameRecipientsMax)
      const distance = envelope.recipientFrames[index]!
      const log = this.#envelopeLog(place.lane)
      const frame = await this.#frame(log, position(place.position - distance), 64 * 1024, 'recipients')
      const first = index * frameRecipientsMax
      const found = visit(frame.payload, at - first, end - first)
      if (found <= 0) throw log.corrupt(position(place.position - distance), 'recipients are missing')
      at += found
    }
  }

  /** The log in which a lane's envelopes stand. */
  #envelopeLog(lane: number): SegmentFiles {
    return this.#lanes.get(lane).logs?.envelopes.files ?? this.#journal.files
  }

  async #read({ place, envelope: { dataBytes: bytes } }: ActiveMessage, data: StoredPlace): Promise<Buffer> {
    switch (data.kind) {
      case 'before': {
        const at = position(place.position - data.distanceBytes)
        return (await this.#frame(this.#envelopeLog(place.lane), at, bytes, 'data')).payload
      }
      case 'lane':
        return (await this.#frame(this.#dataLog(place.lane), data.position, bytes, 'data')).payload
      case 'spool':
        return this.#spool.read(data.number, bytes)
    }
  }

  #dataLog(lane: number): SegmentFiles {
    const { logs } = this.#lanes.get(lane)
    if (logs === undefined) throw new WaybillError('LOG_CORRUPT', `lane ${lane} has no log of data`)
    return logs.data.files
  }

  async #frame(log: SegmentFiles, at: Position, payloadBytes: number, kind: KindName): Promise<Frame> {
    // A message that was written anew is active before its new place is on the disk.
    if (log === this.#journal.files && at >= this.#journal.durableEnd)
      await this.#journal.whenDurable(position(at + 1))
    const frame = await log.frame(at, payloadBytes)
    if (frame.kind !== kind) throw log.corrupt(at, `a ${frame.kind} record stands where ${kind} should`)
    return frame
  }

  #dataCorrupt(message: ActiveMessage): WaybillError {
    return new WaybillError('DATA_CORRUPT', 'the data does not match its checksum', {
      id: message.envelope.id,
      ...this.#dataPlace(message),
    })
  }

  #dataPlace({ envelope, place }: ActiveMessage): object {
    const { data } = envelope
    switch (data.kind) {
      case 'before':
        return this.#envelopeLog(place.lane).placeOf(position(place.position - data.distanceBytes))
      case 'lane':
        return this.#dataLog(place.lane).placeOf(data.position)
      case 'spool':
        return { path: spoolPath(data.number) }
      case 'ref':
        return {}
    }
  }
}
