/** The requests for inspections and their answers: plain data that crosses threads. */
import type { LoggedRecord } from '../../inspect/records/records.js'
import type { LogStatistics } from '../../inspect/figures/log-statistics.js'
import type { MarkName } from '../../inspect/figures/segment-map.js'
import type { Finding } from '../../inspect/damage/finding.js'

export type InspectionOrder =
  | QshapeOrder
  | { readonly kind: 'segments' }
  | { readonly kind: 'verify' }
  | { readonly kind: 'history'; readonly id: string }
  /** Without a position where the journal ends. */
  | { readonly kind: 'at'; readonly position: number | undefined }

export interface QshapeOrder {
  readonly kind: 'qshape'
  readonly by: 'recipient' | 'sender'
  /** Names of queues, or numbers of lanes. */
  readonly lanes: readonly string[]
  readonly buckets: number
  readonly firstMs: number
  readonly linear: boolean
  readonly limit: number
  /** Milliseconds since 1970. */
  readonly nowMs: number
}

export interface ShownLog extends LogStatistics {
  readonly segmentBytes: number
  readonly marks: readonly { readonly name: MarkName; readonly position: number }[]
}

export interface ShownRecord extends Omit<LoggedRecord, 'payload' | 'timeMs'> {
  readonly at: number
  readonly fields: Readonly<Record<string, unknown>>
}

/** How far it has come, bytes. */
export type OnProgress = (done: number, all: number) => void

/** Damage that was met; of one that is large the first findings. */
export const findingsMax = 1000

export type InspectionAnswer = { readonly findings: readonly Finding[] } & Readonly<Record<string, unknown>>

/** @throws WaybillError by rejection */
export type Inspect = (
  order: InspectionOrder,
  onProgress: OnProgress,
  signal: AbortSignal,
) => Promise<InspectionAnswer>
