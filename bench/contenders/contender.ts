/** A contender: a store that makes messages durable, driven by producers that wait. */

/** The result of one turn. */
export interface Slice {
  readonly messageCount: number
  /** Until everything that was begun is durable, milliseconds. */
  readonly durationMs: number
  /** Processor time of the whole process, its thread pool too, milliseconds. */
  readonly cpuMs: number
  /** Synced writes and their bytes; 0 if unknown. */
  readonly syncCount: number
  readonly writtenBytes: number
  /** Bytes written to the device meanwhile, by others, too; 0 if unknown. */
  readonly deviceBytes: number
  /** From a producer's call until its message was durable, milliseconds. */
  readonly p50Ms: number
  readonly p99Ms: number
}

/** Messages a second. */
export const rateOf = ({ messageCount, durationMs }: Slice): number => (messageCount / durationMs) * 1000

export interface ContenderOptions {
  /** An empty directory for it. */
  readonly directory: string
  readonly messageBytes: number
  readonly recipientCount: number
  /** `Q`: one message, and a delivery that answers at once. `R`: senders, 5000 recipients in many
   * domains; a delivery reads the data, checks them, and answers a turn of the event loop later. */
  readonly workload: 'Q' | 'R'
  /** Of workload R. */
  readonly domainCount: number
  /** In workload R, of so many messages the engine defers one; 0: none. */
  readonly deferredOneIn: number
  /** Deferred messages that wait in the queue before the first slice; only the engine has any. */
  readonly backlogCount: number
}

/** A store as producers see it. */
export interface Store {
  /** Begins a message; settles when it is durable. */
  submit(): Promise<unknown>
  /** Settles when all effects of the submissions are durable. */
  drained(): Promise<void>
  /** Since the store was opened. */
  syncs(): { readonly syncCount: number; readonly writtenBytes: number }
  close(): Promise<void>
}

export interface Contender {
  /** One turn: so many producers, for so long. */
  /** @param messageCountMax ends the turn earlier */
  slice(producerCount: number, durationMs: number, messageCountMax?: number): Promise<Slice>
  close(): Promise<void>
}
