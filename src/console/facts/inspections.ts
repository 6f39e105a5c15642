/** The types of the relay's inspections: answers that the relay reads from the queue's files. An
 * inspection reads the disk and takes its time; what is live stands in api.ts. */

export interface AgeShape {
  /** All domains that mail waits for; the rows are those of most of it. */
  readonly domainCount: number
  /** Minutes at which each bucket ends. */
  readonly heads: readonly string[]
  readonly rows: readonly {
    readonly domain: string
    readonly total: number
    readonly buckets: readonly number[]
  }[]
}

export interface Finding {
  readonly log: string
  readonly segment?: number
  readonly offsetBytes?: number
  readonly bytes?: number
  readonly reason: string
  readonly lost?: string
}

export type SegmentState = 'live' | 'pinned' | 'garbage' | 'unused'

export interface Segment {
  readonly index: number
  readonly fileBytes: number
  readonly contentBytes: number
  readonly state: SegmentState
  readonly pinnedBy: readonly string[]
}

export interface LogSegments {
  readonly name: string
  readonly floor: number
  readonly end: number
  readonly segmentBytes: number
  readonly fileBytes: number
  readonly liveBytes: number
  readonly pinnedBytes: number
  readonly garbageBytes: number
  readonly spareCount: number
  readonly spareBytes: number
  readonly segments: readonly Segment[]
  readonly marks: readonly { readonly name: string; readonly position: number }[]
}

export interface LogPicture {
  readonly logs: readonly LogSegments[]
  readonly restart: {
    readonly life: number
    readonly suffix: number
    readonly end: number
    readonly suffixBytes: number
    readonly activeCount: number
  }
  readonly findings: readonly Finding[]
}

export interface Verdict {
  readonly isSound: boolean
  readonly findings: readonly Finding[]
  readonly batchCount: number
  readonly recordCount: number
  readonly messageCount: number
  readonly dataBytes: number
  readonly tornTailBytes: number
}

export interface QueueAt {
  readonly position: number
  readonly lanes: readonly {
    readonly lane: number
    readonly queue: string
    readonly intervalMs: number | null
    readonly messageCount: number
  }[]
  readonly activeCount: number
}
