/** Calls: a command anywhere talks to the process that owns a queue, through the store.
 * Invariants:
 * 1. A call has one caller and at most one taker, which owned the queue when it took the call.
 * 2. Each direction is a row of pieces: they arrive once and in order, or the call is over.
 * 3. A call lasts as long as both connections. It is no promise: a failover of the database ends
 * it, as the end of a process ends a socket. So calls wait for no standby. */
import type { Answer, Session } from './store.js'

/** Which end of a call: the command, or the owner of the queue. */
export type CallEnd = 'caller' | 'taker'

export interface Received {
  /** In order. */
  readonly pieces: readonly Buffer[]
  /** The other end has hung up, or its connection is gone. */
  readonly isOver: boolean
}

export interface Calls {
  /** @returns the name of the call */
  place(queue: number): Promise<Answer<string>>
  isTaken(call: string): Promise<Answer<boolean>>
  /** @returns true when nobody has taken the call, and nobody will */
  withdraw(call: string): Promise<Answer<boolean>>
  /** Takes all calls that wait, while the life with this nonce owns the queue. */
  take(queue: number, nonce: string): Promise<Answer<readonly string[]>>
  /** `full`: the other end has much to read, nothing was sent. `over`: it reads no more. */
  send(call: string, from: CallEnd, number: number, piece: Buffer): Promise<Answer<'sent' | 'full' | 'over'>>
  receive(call: string, end: CallEnd): Promise<Answer<Received>>
  /** What was sent before can still be received. */
  hangUp(call: string, end: CallEnd): Promise<Answer<void>>
  /** Calls back when there may be something new for this connection; once too often is harmless.
   * @returns stops it */
  onNotice(tell: () => void): () => void
  close(): void
}

export interface CallConnection {
  readonly calls: Calls
  /** Questions on the same connection. */
  readonly session: Session
}

export interface CallStore {
  readonly name: string
  /** Refused with NOT_A_QUEUE: the store was made by an earlier version, and has no calls. */
  connectCalls(): Promise<Answer<CallConnection>>
}

/** The life that owns a queue. */
export interface OwnLife {
  readonly queue: number
  readonly nonce: string
  /** Of the server that its changes go to; undefined: it has no connection now. */
  readonly timeline: number | undefined
}
