/** A mail relay under measurement. It takes mail by SMTP, keeps it durably as it does by default,
 * and delivers all of it to one sink. */

import { mkdirSync } from 'node:fs'

export type RelayName = 'waybill' | 'postfix' | 'haraka' | 'passage'

export interface RelayOptions {
  /** Its own, empty: queue and configuration go here, on the disk that is measured. */
  readonly directory: string
  /** Port of the sink, 127.0.0.1. */
  readonly sinkPort: number
}

/** @param directory is made */
export function placed(directory: string, sinkPort: number): RelayOptions {
  mkdirSync(directory)
  return { directory, sinkPort }
}

export interface Relay {
  readonly name: RelayName
  readonly version: string
  /** Where it takes mail, 127.0.0.1. */
  readonly port: number
  /** All of its processes descend from this one. */
  readonly processId: number
  /** Others that work for it. */
  readonly helperIds?: readonly number[]
  stop(): Promise<void>
}
