/** Who takes part in a contest: something that makes messages durable, driven by producers that wait. */

/** What one turn of a contender gave. */
export interface Slice {
  readonly messageCount: number
  /** Until everything that was begun is durable, milliseconds. */
  readonly durationMs: number
  /** Processor time of the whole process, its thread pool too, milliseconds. */
  readonly cpuMs: number
  /** Synced writes, and the bytes that they wrote; 0 where the contender does not say. */
  readonly syncCount: number
  readonly writtenBytes: number
  /** Written to the device meanwhile, by others too; 0 where the kernel does not say. */
  readonly deviceBytes: number
  /** From a producer's call until its message was durable, milliseconds. */
  readonly p50Ms: number
  readonly p99Ms: number
}

export interface ContenderOptions {
  /** Its own, empty. */
  readonly directory: string
  readonly messageBytes: number
  readonly recipientCount: number
  /** Deferred messages that wait in the queue before the first slice; only the engine has any. */
  readonly backlogCount: number
}

/** A store as producers see it. */
export interface Store {
  /** Begins a message; settles when it is durable. What comes after is the store's own affair. */
  submit(): Promise<unknown>
  /** Settles when everything that follows from what was submitted has happened and is durable. */
  drained(): Promise<void>
  /** Since the store was opened. */
  syncs(): { readonly syncCount: number; readonly writtenBytes: number }
  close(): Promise<void>
}

export interface Contender {
  /** One turn: so many producers, for so long. */
  slice(producerCount: number, durationMs: number): Promise<Slice>
  close(): Promise<void>
}
