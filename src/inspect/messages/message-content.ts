/** Reads the parts of a message from any log, verified. */
import { crc32 } from '../../base/checksum.js'
import { position, type Position } from '../../base/position.js'
import type { EnvelopePlace } from '../../active/active-message.js'
import type { RequestDsn } from '../../delivery/transport.js'
import { WaybillError } from '../../errors.js'
import type { SegmentFiles } from '../../log/segment-files.js'
import { requestOfEach, type EnvelopeDsn } from '../../record/dsn.js'
import { decodeEnvelope, frameRecipientsMax, type Envelope } from '../../record/envelope.js'
import { frameHeaderBytes, payloadBytesMax, type KindName } from '../../record/frame.js'
import { decodeOrcpts, decodeRecipients } from '../../record/recipients.js'
import { spoolPath } from '../../directory/paths.js'
import type { LogName, QueueDirectory } from '../queue/queue-directory.js'

/** Where an envelope stands, and in which log. */
export interface Located {
  readonly envelope: Envelope
  readonly log: LogName
  readonly lane: number
  readonly at: Position
}

export class MessageContent {
  readonly #directory: QueueDirectory
  readonly #logs = new Map<LogName, SegmentFiles>()

  constructor(directory: QueueDirectory) {
    this.#directory = directory
  }

  log(name: LogName): SegmentFiles {
    let files = this.#logs.get(name)
    if (files === undefined) this.#logs.set(name, (files = this.#directory.log(name)))
    return files
  }

  /** @throws WaybillError LOG_CORRUPT */
  async envelope(log: LogName, place: EnvelopePlace): Promise<Envelope> {
    const payload = await this.#payload(log, place.position, place.bytes - frameHeaderBytes, 'envelope')
    return decodeEnvelope(payload)
  }

  /** Recipients `from` … `from` + `count` − 1, fewer at the end.
   * @throws WaybillError LOG_CORRUPT */
  async recipients(located: Located, from: number, count: number): Promise<readonly string[]> {
    const { envelope } = located
    if (envelope.recipientFrames.length === 0)
      return from === 0 && count >= envelope.recipientCount
        ? envelope.recipients
        : envelope.recipients.slice(from, from + count)
    const addresses: string[] = []
    for await (const { payload, first, end } of this.#frames(located, from, count))
      addresses.push(...decodeRecipients(payload).slice(first, end))
    return addresses
  }

  /** The sender's requests (RFC 3461) of all recipients, in order; undefined: none.
   * @throws WaybillError LOG_CORRUPT */
  async dsn(located: Located): Promise<RequestDsn | undefined> {
    const { dsn } = located.envelope
    if (dsn === undefined) return undefined
    const recipients = requestOfEach(dsn, await this.#orcpts(located, dsn))
    return { ret: dsn.ret, envid: dsn.envid || undefined, recipients }
  }

  async #orcpts(located: Located, dsn: EnvelopeDsn): Promise<readonly string[]> {
    const { recipientCount, recipientFrames } = located.envelope
    const orcpts = [...dsn.orcpts]
    if (recipientFrames.length > 0)
      for await (const { payload, first, end } of this.#frames(located, 0, recipientCount)) {
        const part = decodeOrcpts(payload)
        for (let i = first; i < end; i++) orcpts.push(part[i] ?? '')
      }
    while (orcpts.length < recipientCount) orcpts.push('')
    return orcpts
  }

  /** The frames with recipients `from` … `from` + `count` − 1, and their numbers in each. */
  async *#frames(
    { envelope, log, at }: Located,
    from: number,
    count: number,
  ): AsyncGenerator<{ readonly payload: Buffer; readonly first: number; readonly end: number }> {
    const end = Math.min(from + count, envelope.recipientCount)
    for (let next = from; next < end;) {
      const index = Math.floor(next / frameRecipientsMax)
      const frameAt = position(at - (envelope.recipientFrames[index] ?? at))
      const first = index * frameRecipientsMax
      const payload = await this.#payload(log, frameAt, 64 * 1024, 'recipients')
      const last = Math.min(decodeRecipients(payload).length, end - first)
      if (last <= next - first) throw this.log(log).corrupt(frameAt, 'recipients are missing')
      yield { payload, first: next - first, end: last }
      next = first + last
    }
  }

  /** The whole data, verified; undefined for a reference.
   * @throws WaybillError DATA_CORRUPT, LOG_CORRUPT, DISK_FAILED */
  async data({ envelope, log, lane, at }: Located): Promise<Buffer | undefined> {
    const { data, dataBytes } = envelope
    if (data.kind === 'ref') return undefined
    const bytes =
      data.kind === 'spool'
        ? await this.#spooled(data.number, dataBytes)
        : data.kind === 'before'
          ? await this.#payload(log, position(at - data.distanceBytes), dataBytes, 'data')
          : await this.#payload(`${lane}/data`, data.position, dataBytes, 'data')
    if (bytes.length !== dataBytes || crc32(bytes) !== envelope.checksum)
      throw new WaybillError('DATA_CORRUPT', 'the data does not match its checksum', {
        id: envelope.id,
        ...(data.kind === 'spool' ? { path: spoolPath(data.number) } : this.log(log).placeOf(at)),
      })
    return bytes
  }

  async #spooled(number: number, bytes: number): Promise<Buffer> {
    const file = await this.#directory.disk.open(spoolPath(number), 'read')
    try {
      // One byte more: a file that is too long is damaged, too.
      const size = await file.size()
      const data = Buffer.allocUnsafe(Math.min(bytes + 1, size))
      return data.subarray(0, await file.read(data, 0))
    } finally {
      await file.close()
    }
  }

  async #payload(log: LogName, at: Position, bytes: number, kind: KindName): Promise<Buffer> {
    const files = this.log(log)
    if (at <= 0 || !Number.isSafeInteger(at))
      throw files.corrupt(position(0), `an envelope names no place for its ${kind}`)
    const frame = await files.frame(at, Math.min(Math.max(0, bytes), payloadBytesMax))
    if (frame.kind !== kind) throw files.corrupt(at, `a ${frame.kind} record stands where ${kind} should`)
    return frame.payload
  }
}
