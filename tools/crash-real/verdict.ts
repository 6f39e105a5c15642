/** The result of a run of lives: numbers and violations. */

export type ViolationKind =
  'lost' | 'repeated' | 'changed' | 'phantom' | 'report' | 'unreadable' | 'leftover' | 'stuck' | 'life'

export interface Violation {
  readonly kind: ViolationKind
  readonly what: string
}

export interface Counts {
  lives: number
  settled: number
  rejected: number
  delivered: number
  duplicates: number
  /** Deliveries whose outcome was not proven durable when their life ended. */
  allowance: number
  reports: number
}

export const noCounts = (): Counts => ({
  lives: 0,
  settled: 0,
  rejected: 0,
  delivered: 0,
  duplicates: 0,
  allowance: 0,
  reports: 0,
})
