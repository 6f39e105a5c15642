/** A policy's limits on deliveries at once, beside the scheduler's own. */

export interface DeliveryLimits {
  /** Deliveries at once of all transports, while one of this destination begins; ≥ 1. */
  readonly deliveryCountMax: number
  /** The same of its transport; ≥ 1. */
  readonly transportDeliveryCountMax: number
  /** Destinations with the same ring share the next bound, over all transports. */
  readonly ring: string
  /** The same of its ring; ≥ 1. */
  readonly ringDeliveryCountMax: number
  /** Mail waits until its site is asked for: `flush`, or ETRN. */
  readonly queueonly: boolean
}
