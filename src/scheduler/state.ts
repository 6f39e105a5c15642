/** The state that the parts of one scheduler share.
 * Invariant: `recipientCount` ≤ `recipientBound`: recipients in memory, and promised ones, never
 * exceed the document's formula. */
import { Messages, type Message } from './message.js'
import type { SchedulerHost } from './interface.js'
import { FreeList } from '../base/free-list.js'
import type { Job } from './job.js'
import type { Peer } from './peer.js'
import type { CheckedParameters } from './parameters.js'
import { Rotation } from './selection.js'
import type { Count, Ring } from './shared-bounds.js'
import { Timers } from './timers.js'
import { Transport } from './transport.js'

export class SchedulerState {
  parameters: CheckedParameters
  readonly host: SchedulerHost<object>
  readonly messages: Messages = new Messages()
  readonly transports: Map<string, Transport> = new Map()
  readonly rotation: Rotation = new Rotation()
  readonly timers: Timers = new Timers()
  /** Deliveries of all transports. */
  readonly total: Count = { busy: 0 }
  /** Rings of shared-bounds.ts that some destination is in. */
  readonly rings: Map<string, Ring> = new Map()
  readonly freeMessages: FreeList<Message>
  readonly freeJobs: FreeList<Job>
  readonly freePeers: FreeList<Peer>
  nowMs = 0
  recipientCount = 0
  /** Batches of recipients that came into memory. */
  batchCount = 0
  /** max(minimum × active limit + Σ over used transports (recipient limit + extra), message
   * recipient limit). */
  recipientBound: number
  #slotsMax: number
  destinationCount = 0
  /** Whether feedback events are asked for. */
  traced: boolean
  /** The last answer of any delivery saw trouble of its site. */
  siteTroubleSeen = false
  /** When crowding.ts looks at the destinations again; Infinity while memory is not crowded. */
  relieveAtMs: number = Infinity
  /** Messages that wait for room to be read, first in, first out. */
  firstStarved: Message | undefined = undefined
  lastStarved: Message | undefined = undefined

  constructor(parameters: CheckedParameters, host: SchedulerHost<object>) {
    this.parameters = parameters
    this.host = host
    this.freeMessages = new FreeList(parameters.qmgrMessageActiveLimit)
    this.freeJobs = new FreeList(parameters.qmgrMessageActiveLimit)
    this.freePeers = new FreeList(parameters.qmgrMessageActiveLimit)
    this.traced = this.#isTraced
    this.#slotsMax = parameters.qmgrMessageRecipientMinimum * parameters.qmgrMessageActiveLimit
    this.recipientBound = Math.max(this.#slotsMax, parameters.qmgrMessageRecipientLimit)
    for (const name of parameters.transports.keys()) this.transportOf(name)
  }

  /** Other parameters are in force. */
  replaceParameters(parameters: CheckedParameters): void {
    this.parameters = parameters
    this.traced = this.#isTraced
  }

  get #isTraced(): boolean {
    return this.parameters.destinationConcurrencyFeedbackDebug && this.host.onFeedback !== undefined
  }

  /** The transport of this name, made at first use. */
  transportOf(name: string): Transport {
    const known = this.transports.get(name)
    if (known !== undefined) return known
    const { transports, defaults, qmgrMessageRecipientLimit } = this.parameters
    const transport = new Transport(name, transports.get(name) ?? defaults)
    this.transports.set(name, transport)
    this.rotation.add(transport)
    this.#slotsMax += transport.settings.recipientLimit + transport.settings.extraRecipientLimit
    this.recipientBound = Math.max(this.#slotsMax, qmgrMessageRecipientLimit)
    return transport
  }
}
