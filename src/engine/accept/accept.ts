/** Accepts a submission, from `submit` to durable: one group in the journal, one shared sync.
 * Invariant: a submission settles only when its whole group is durable; one that is refused or cut
 * off leaves nothing that a later life would deliver, except that a crash may keep what was
 * appended and not yet acknowledged. */
import type { Readable } from 'node:stream'
import { crc32 } from '../../base/checksum.js'
import { LinkedList, type Linked } from '../../base/linked-list.js'
import { MessageIds } from '../../base/message-id.js'
import { onAbort } from '../../base/on-abort.js'
import { nowhere, position, type Position } from '../../base/position.js'
import { isWaybillError, WaybillError } from '../../errors.js'
import { incomingLane } from '../../lane/lane.js'
import { untouched, type Envelope } from '../../record/envelope.js'
import { appendGroup, messageGroup, type MessageGroup } from '../message/message-group.js'
import type { Parts } from '../life/parts.js'
import { DataCheck } from './data-check.js'
import { checkFits } from './group-fits.js'
import { SettlingPace, type Progress } from './settling-pace.js'
import { PlainMail } from './plain-mail.js'
import { RoomTurns } from './room-turns.js'
import { SpaceWatch } from './space-watch.js'
import { chain, discard, isReadable, isUsed, markUsed, piecesOf } from './stream-data.js'
import { submitOnce } from './submit-once.js'
import type { SpoolFile } from '../message/spool.js'
import {
  aborted,
  checkAborted,
  checkEnvelope,
  checkRef,
  ownPiece,
  type CheckedEnvelope,
  type Submission,
} from './submission.js'
import { checkUnexpired } from './submission-terms.js'
import { Tickets, type Accepted } from './tickets.js'

/** Bytes appended and not durable beyond which submissions wait: about what the disk takes
 * in a few syncs. */
const stagedBytesMax = 32 * 1024 * 1024

/** A stream that is being read. */
interface StreamInHand extends Linked<StreamInHand> {
  readonly stream: Readable
}

export interface AcceptOptions {
  /** Of deliveries. */
  readonly progress: () => Omit<Progress, 'settledCount'>
  /** Some have settled: their mail may be started. */
  readonly onAccepted: () => void
}

export class Accept {
  readonly #parts: Parts
  readonly #ids: MessageIds
  readonly #tickets: Tickets
  readonly space: SpaceWatch
  readonly #streams = new LinkedList<StreamInHand>()
  readonly #turns = new RoomTurns()
  readonly #plain: PlainMail
  readonly #options: AcceptOptions
  readonly #pace = new SettlingPace()
  #durableEnd: Position = nowhere
  #settlesSoon = false

  constructor(parts: Parts, options: AcceptOptions) {
    this.#parts = parts
    this.#options = options
    this.#plain = new PlainMail(parts)
    this.#ids = new MessageIds(parts.options.prng)
    this.space = new SpaceWatch(parts, () => this.roomChanged())
    this.#tickets = new Tickets(parts.events)
  }

  /** Settles when the message is durable.
   * @throws WaybillError for what is wrong with the submission, DISK_FULL,
   * DISK_FAILED, QUEUE_CRASHED */
  submit(submission: Submission): Promise<Accepted> {
    const { options, life } = this.#parts
    try {
      life.check()
      const envelope = checkEnvelope(submission, options)
      const { key } = envelope
      if (key === undefined) return this.#submit(submission, envelope)
      return submitOnce(this.#parts.keys, submission, key, (own) => {
        // The look for the key took its time.
        life.check()
        checkAborted(submission.signal)
        return this.#submit(own, envelope)
      })
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** @throws WaybillError for what is wrong with the data */
  #submit(submission: Submission, envelope: CheckedEnvelope): Promise<Accepted> {
    checkUnexpired(envelope.terms, this.#parts.options.clock)
    const { data } = submission
    if (typeof data === 'string') return this.#submitBytes(submission, envelope, Buffer.from(data))
    if (Buffer.isBuffer(data)) return this.#submitBytes(submission, envelope, data)
    if (isReadable(data)) return this.#submitStream(submission, envelope, data)
    const group = this.#group(envelope, { kind: 'ref', ref: checkRef(data) }, 0, 0)
    return this.#append(submission, group, undefined, undefined)
  }

  /** The journal is durable up to here: tickets settle, in order. */
  durable(end: Position): void {
    this.#durableEnd = end
    if (!this.#settlesSoon) this.#settleSome()
    this.space.look()
    this.roomChanged()
  }

  /** Mail behind it is not started yet: its submitter does not know its id. */
  get acceptedEnd(): Position {
    return this.#allHaveSettled ? position(Infinity) : this.#tickets.settledEnd
  }

  /** Else there are submissions that are durable, and settle in a later turn. */
  get #allHaveSettled(): boolean {
    return this.#tickets.settledEnd >= this.#durableEnd
  }

  /** All that is durable settles now: nobody else hears of it before its submitter. */
  settleDurable(): void {
    if (!this.#allHaveSettled) this.#settle(Infinity)
  }

  #settleSome(): void {
    const { settledCount } = this.#tickets
    this.#settle(this.#pace.next({ ...this.#options.progress(), settledCount }))
  }

  #settle(recipientCount: number): void {
    this.#tickets.settle(this.#durableEnd, recipientCount)
    this.#options.onAccepted()
    if (this.#allHaveSettled) return
    this.#settlesSoon = true
    this.#parts.options.clock.soon(() => {
      this.#settlesSoon = false
      this.#parts.life.guard(() => this.#settleSome())
    })
  }

  /** There may be room for waiting submissions. */
  roomChanged(): void {
    this.#turns.look()
  }

  /** The end of this life. */
  fail(error: unknown): void {
    this.#tickets.fail(error, this.#durableEnd)
    for (const { stream } of this.#streams) stream.destroy(this.#parts.life.reason)
    this.roomChanged()
  }

  #submitBytes(submission: Submission, envelope: CheckedEnvelope, data: Buffer): Promise<Accepted> {
    const { options } = this.#parts
    const check = new DataCheck(options.dataBytesMax, submission.longLines === true)
    check.add(data)
    check.end()
    const isSmall = data.length <= options.inlineBytesMax
    const roomBytes = isSmall ? this.#plain.roomBytes(envelope, data) : 0
    if (roomBytes > 0 && this.#isReady()) {
      const appended = this.#plain.append(this.#ids, envelope, data, roomBytes)
      return this.#ticket(this.#parts.journal.end, appended)
    }
    // A copy: the submission may wait, for room or for its file; the caller has its buffer for
    // itself again.
    const kept = typeof submission.data === 'string' ? data : Buffer.from(data)
    if (!isSmall) return this.#submitPieces(submission, envelope, [kept])
    const group = this.#group(envelope, kept, kept.length, crc32(kept))
    return this.#append(submission, group, kept, undefined)
  }

  async #submitStream(
    submission: Submission,
    envelope: CheckedEnvelope,
    stream: Readable,
  ): Promise<Accepted> {
    const { options } = this.#parts
    const { signal } = submission
    if (stream.readableEnded || stream.destroyed)
      throw new WaybillError('DATA_INCOMPLETE', 'the stream is over already', {}, stream.errored ?? undefined)
    if (isUsed(stream))
      throw new WaybillError('DATA_INCOMPLETE', 'the stream is the data of another submission already')
    markUsed(stream)
    const check = new DataCheck(options.dataBytesMax, submission.longLines === true)
    const deaf = onAbort(signal, () => void stream.destroy(aborted(signal)))
    const inHand: StreamInHand = { stream, older: undefined, newer: undefined }
    const leave = (): void => {
      this.#streams.delete(inHand)
      deaf()
    }
    this.#streams.add(inHand)
    const checked = async function* (): AsyncGenerator<Buffer> {
      for await (const piece of piecesOf(stream)) {
        const bytes = ownPiece(piece)
        check.add(bytes)
        yield bytes
      }
      // A stream that does not destroy itself has no listener any more: its error would end the
      // process.
      leave()
      check.end()
      // Streams of other libraries do not have the second member.
      const { readableAborted, errored = null } = stream as { readableAborted?: boolean; errored?: unknown }
      if (readableAborted === true || errored !== null)
        throw new WaybillError('DATA_INCOMPLETE', 'the data ended before its end', {}, errored ?? undefined)
    }
    const start: Buffer[] = []
    const pieces = checked()
    try {
      while (check.bytes <= options.inlineBytesMax) {
        const { value, done } = await pieces.next()
        if (done === true) {
          const data = Buffer.concat(start)
          const group = this.#group(envelope, data, data.length, crc32(data))
          return await this.#append(submission, group, data, undefined)
        }
        start.push(value)
      }
      return await this.#submitPieces(submission, envelope, chain(start, pieces))
    } catch (error) {
      leave()
      discard(stream, pieces)
      if (isWaybillError(error)) throw error
      throw new WaybillError('DATA_INCOMPLETE', 'the data could not be read to its end', {}, error)
    }
  }

  /** Large data goes into a separate file, durable before the envelope is appended. At the end of
   * this life a call may hang with its device. */
  async #submitPieces(
    submission: Submission,
    envelope: CheckedEnvelope,
    pieces: Iterable<Buffer> | AsyncIterable<Buffer>,
  ): Promise<Accepted> {
    const { group, file } = await this.#parts.life.orEnd(this.#spooled(submission, envelope, pieces))
    try {
      return await this.#append(submission, group, undefined, file)
    } catch (error) {
      await this.#giveUp(file)
      throw error
    }
  }

  async #giveUp(file: SpoolFile): Promise<void> {
    const { life, spool } = this.#parts
    if (!life.isOver && spool.isPending(file.number)) await file.abort()
  }

  async #spooled(
    submission: Submission,
    envelope: CheckedEnvelope,
    pieces: Iterable<Buffer> | AsyncIterable<Buffer>,
  ): Promise<{ readonly group: MessageGroup; readonly file: SpoolFile }> {
    const { spool, life } = this.#parts
    const file = await spool.createInTurn()
    try {
      let bytes = 0
      let checksum = 0
      for await (const piece of pieces) {
        checkAborted(submission.signal)
        await file.write(piece)
        checksum = crc32(piece, checksum)
        bytes += piece.length
      }
      await file.finish()
      life.check()
      return { group: this.#group(envelope, { kind: 'spool', number: file.number }, bytes, checksum), file }
    } catch (error) {
      await this.#giveUp(file)
      throw error
    }
  }

  #group(
    { sender, recipients, smtputf8, dsn, id, held, priority, key, terms }: CheckedEnvelope,
    data: Parameters<typeof messageGroup>[2],
    dataBytes: number,
    checksum: number,
  ): MessageGroup {
    const acceptedAt = this.#parts.options.clock.wallMs()
    const group = messageGroup(
      {
        id: id ?? this.#ids.next(acceptedAt),
        sender,
        acceptedAt,
        smtputf8,
        dataBytes,
        checksum,
        ...untouched,
        dsn,
        held,
        priority,
        key,
        terms,
      },
      recipients,
      data,
    )
    checkFits(this.#parts, group)
    return group
  }

  /** Neither who waits already, nor the disk, nor what is staged stands in the way. */
  #isReady(): boolean {
    return this.#turns.isFree && this.#parts.journal.stagedBytes <= stagedBytesMax && !this.space.isShort
  }

  /** @param data kept for the runner, when it is in memory anyway */
  #append(
    { signal }: Submission,
    group: MessageGroup,
    data: Buffer | undefined,
    file: SpoolFile | undefined,
  ): Promise<Accepted> {
    checkAborted(signal)
    const append = (): Promise<Accepted> | undefined =>
      this.#hasRoom(group) ? this.#appendNow(group, data, file) : undefined
    return (this.#turns.isFree ? append() : undefined) ?? this.#turns.wait(append, signal)
  }

  /** Is there room? false: it is worth waiting for.
   * @throws WaybillError DISK_FULL, QUEUE_CRASHED */
  #hasRoom({ bytes, envelope: { key } }: MessageGroup): boolean {
    const { journal, life, keys } = this.#parts
    life.check()
    const hasKeyRoom = key === undefined || keys.hasRoom
    const room = journal.room(bytes, 'new mail')
    const isFull = room === 'no' || (!hasKeyRoom && keys.log?.diskFull === true)
    if (isFull || (this.space.isShort && !this.space.isAwaited)) throw this.space.refusal
    return hasKeyRoom && !this.space.isShort && room === 'yes' && journal.stagedBytes <= stagedBytesMax
  }

  #appendNow(group: MessageGroup, data: Buffer | undefined, file: SpoolFile | undefined): Promise<Accepted> {
    const { journal, lanes, spool, keys, options } = this.#parts
    const timeMs = options.clock.wallMs()
    journal.open(group.bytes)
    const at = appendGroup(journal, group, incomingLane, timeMs)
    const { key, id, acceptedAt } = group.envelope
    if (key !== undefined) keys.appended({ key, id, acceptedAt, envelope: at })
    if (file !== undefined) spool.appended(file.number)
    lanes.incoming.runner.handOver({
      position: at,
      bytes: group.envelopeBytes,
      timeMs,
      envelope: group.envelope,
      data,
      seenAtMs: 0,
    })
    return this.#ticket(position(at + group.envelopeBytes), group.envelope)
  }

  /** Settles when the journal is durable up to `end`. */
  #ticket(end: Position, envelope: Envelope): Promise<Accepted> {
    this.#parts.journal.want()
    return this.#tickets.wait(end, envelope)
  }
}
