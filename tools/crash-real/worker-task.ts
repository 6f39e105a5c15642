/** The task of a child, one argument of its command line. */
import type { QueueOptions } from '../../src/index.js'
import type { Mixture } from './mail.js'

export interface WorkerTask {
  readonly directory: string
  readonly seed: number
  /** load: submits, then stays until it is killed · batch: submits and ends when all is answered ·
   * drain: waits until the queue is empty · quiet: checks that no mail comes back */
  readonly mode: 'load' | 'batch' | 'drain' | 'quiet'
  /** Number of its first message. */
  readonly firstNumber: number
  readonly messageCount: number
  readonly producerCount: number
  readonly mixture: Mixture
  /** The fate of recipients behind the gate: they get the mail, are deferred, or get no answer. */
  readonly gate: 'open' | 'defers' | 'hangs'
  /** The floor of free space below which new mail is refused, bytes. */
  readonly freeBytesMin: number
}

/** Small, so that rotation, recycling, checkpoints and carrying are everyday. As many messages are
 * active for each byte of a segment as by default. */
export const queueSizes: Pick<
  QueueOptions,
  'segmentBytes' | 'laneSegmentBytes' | 'suffixBytesMax' | 'checkpointIntervalMs' | 'activeCountMax'
> = {
  segmentBytes: 1024 * 1024,
  laneSegmentBytes: 512 * 1024,
  suffixBytesMax: 2 * 1024 * 1024,
  checkpointIntervalMs: 200,
  activeCountMax: 300,
}

export const retryIntervalsMs: readonly number[] = [200, 500]
