/** The number of syncs of a journal in this life, and their durations. */
export interface SyncStatistics {
  /** Synced writes that returned. */
  syncCount: number
  /** Bytes that they wrote, padding included. */
  writtenBytes: number
  /** Time from the call to its return, in milliseconds: of the last, and of all together. */
  syncLastMs: number
  syncTotalMs: number
}
