/** Writes one lane in bulk, with the engine's writer of lane logs.
 * Invariant: its files equal those after a deferral of each message; `finish` makes them durable,
 * and a checkpoint may name its ends. */
import { nowhere, position } from '../../../src/base/position.js'
import type { Prng } from '../../../src/base/prng.js'
import type { Disk } from '../../../src/disk/disk.js'
import { appendGroup, messageGroup, type EnvelopeFacts } from '../../../src/engine/message/message-group.js'
import { WaybillError } from '../../../src/errors.js'
import { LaneLog } from '../../../src/log/lane-log.js'
import { segmentHeaderBytes } from '../../../src/log/segment.js'
import type { LanePositions } from '../../../src/record/checkpoint.js'
import { frameBytes, kinds } from '../../../src/record/frame.js'
import { laneFiles, type LanePart } from '../../../src/directory/log-files.js'

/** Bytes written between two waits for the disk. */
const unsyncedBytesMax = 32 * 1024 * 1024

export interface BulkLaneOptions {
  readonly disk: Disk
  readonly prng: Prng
  readonly lane: number
  readonly laneSegmentBytes: number
}

export class BulkLane {
  readonly #lane: number
  readonly #envelopes: LaneLog
  readonly #data: LaneLog
  #look: () => void = () => undefined
  #failure: { readonly error: unknown } | undefined
  #unsyncedBytes = 0

  constructor({ disk, prng, lane, laneSegmentBytes }: BulkLaneOptions) {
    this.#lane = lane
    const open = (part: LanePart): LaneLog =>
      new LaneLog({
        ...laneFiles(disk, { laneSegmentBytes }, lane, part),
        disk,
        life: 1,
        prng,
        end: position(segmentHeaderBytes),
        onSegment: () => undefined,
        onRoom: () => this.#look(),
        onFull: () => this.#fail(new WaybillError('DISK_FULL', 'the disk is too full for so much mail')),
        onFailure: (error) => this.#fail(error),
      })
    this.#envelopes = open('envelopes')
    this.#data = open('data')
  }

  /** @param timeMs not before that of the message before it
   * @throws WaybillError DISK_FULL, DISK_FAILED */
  async append(
    facts: EnvelopeFacts,
    recipients: readonly string[],
    data: Buffer,
    timeMs: number,
  ): Promise<void> {
    await this.#room(this.#data, frameBytes(data.length))
    this.#data.open(frameBytes(data.length), timeMs)
    const at = this.#data.append(kinds.data, this.#lane, timeMs, data)
    const group = messageGroup({ ...facts, replaces: nowhere }, recipients, { kind: 'lane', position: at })
    await this.#room(this.#envelopes, group.bytes)
    this.#envelopes.open(group.bytes, timeMs)
    appendGroup(this.#envelopes, group, this.#lane, timeMs)
    this.#unsyncedBytes += group.bytes + data.length
    if (this.#unsyncedBytes > unsyncedBytesMax) await this.#sync()
  }

  /** Makes everything durable. @returns the lane's part of a checkpoint: all messages wait */
  async finish(positions: LanePositions, timeMs: number): Promise<LanePositions> {
    const envelopesEnd = this.#envelopes.pad(timeMs)
    const dataEnd = this.#data.pad(timeMs)
    await this.#sync()
    return { ...positions, envelopesEnd, dataEnd }
  }

  async #sync(): Promise<void> {
    this.#unsyncedBytes = 0
    await this.#envelopes.sync()
    await this.#data.sync()
  }

  async #room(log: LaneLog, bytes: number): Promise<void> {
    while (!log.hasRoom(bytes) && this.#failure === undefined)
      await new Promise<void>((resolve) => (this.#look = resolve))
    if (this.#failure !== undefined) throw this.#failure.error
  }

  #fail(error: unknown): void {
    this.#failure ??= { error }
    this.#look()
  }
}
