/** One message and one server: the commands, and the known facts at the end. */
import type { Readable } from 'node:stream'
import type { RequestDsn } from '../../delivery/transport.js'
import type { ClientError } from './smtp-reply.js'

export interface Mail {
  readonly sender: string
  readonly recipients: readonly string[]
  readonly dataBytes: number
  readonly data: Buffer | Readable
  readonly smtputf8: boolean
  /** The data has octets over 127. */
  readonly eightBit: boolean
  /** What is asked of a server that offers DSN. */
  readonly dsn: RequestDsn | undefined
}

/** What a server has said to the data, of one recipient. */
export interface RecipientReply {
  readonly recipient: string
  readonly response: string
}

/** What is known of a transaction when it has ended. Recipients are named as in the commands, with
 * the quotes that those need. */
export interface Transaction {
  /** The final reply, when it was positive; of LMTP the last one, whatever it says. */
  readonly response: string | undefined
  readonly error: ClientError | undefined
  readonly accepted: readonly string[]
  /** Each names its recipient. */
  readonly refusals: readonly ClientError[]
  /** Behind the data, of recipients that were accepted, in their order; only LMTP has one for
   * each. */
  readonly replies: readonly RecipientReply[]
  /** The end of the data left; without a reply nobody knows whether the server took the message. */
  readonly dotSent: boolean
  /** The server's word came in the middle of the data: what it reads next is data to it. */
  readonly isCut: boolean
  /** The server answered something to this transaction. */
  readonly answered: boolean
}
