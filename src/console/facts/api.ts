/** The types of the HTTP API's answers, with the members that the page shows. Times are
 * milliseconds since 1970, spans end in `Ms`, `null` stands for Infinity and for none. */

export interface PerKind {
  readonly accepted: number
  readonly delivered: number
  readonly deferred: number
  readonly failed: number
}

export type Kind = keyof PerKind

export interface LaneFigures {
  readonly lane: number
  readonly queue: 'incoming' | 'deferred' | 'hold'
  readonly intervalMs: number | null
  readonly waitingBytes: number
  readonly segmentCount: number
  readonly markCount: number
  readonly nextDueAt: number | null
  readonly damage: string | null
}

export interface Room {
  readonly freeBytes: number
  readonly freeFiles: number
  /** So little that new mail is refused. */
  readonly isShort: boolean
  readonly shortOf?: 'bytes' | 'files'
}

export interface Problem {
  readonly code: string
  readonly severity: 'critical' | 'warning' | 'notice'
  readonly text: string
  readonly subject: {
    readonly lane?: number
    readonly transport?: string
    readonly name?: string
  }
  /** A page beside the code, and the place in it. */
  readonly help: string | null
}

export interface Figures {
  readonly at: number
  readonly version: string
  readonly hostname: string
  readonly startedAt: number
  readonly recovering: boolean
  readonly rates: PerKind
  readonly totals: PerKind
  readonly active: { readonly count: number; readonly max: number }
  readonly damagedCount: number
  readonly sync: {
    readonly count: number
    readonly perSecond: number
    /** Of the last second; 0 when there was none. */
    readonly meanMs: number
    readonly lastMs: number
    readonly underWayMs: number
  }
  readonly deliveries: { readonly isHeld: boolean; readonly heldMs: number }
  readonly journal: {
    readonly segmentCount: number
    readonly spareCount: number
    readonly suffixBytes: number
    readonly stagedBytes: number
    readonly checkpointCount: number
  }
  readonly lanes: readonly LaneFigures[]
  readonly room: Room | null
  readonly destinationCount: number
  readonly deadCount: number
  readonly suspendedCount: number
  readonly problems: readonly Problem[]
  readonly destinations?: readonly Destination[]
}

export interface Rates {
  readonly fromAt: number
  readonly stepMs: number
  readonly accepted: readonly (number | null)[]
  readonly delivered: readonly (number | null)[]
  readonly deferred: readonly (number | null)[]
  readonly failed: readonly (number | null)[]
}

export type DestinationState =
  | { readonly kind: 'ready' }
  | {
      readonly kind: 'dead'
      readonly untilAt: number
      readonly status: string
      readonly text: string
      readonly remote: string | null
    }
  | {
      readonly kind: 'suspended'
      /** null: until it is resumed. */
      readonly untilAt: number | null
      /** What an operator has suspended; null: it waits for its rate. */
      readonly order: SuspensionTarget | null
    }

export interface WaitingLimit {
  readonly kind: 'nexthop' | 'tag' | 'sender' | 'source' | 'reply' | 'order'
  readonly name: string
  readonly count: number
  readonly perMs: number
  readonly untilAt: number
}

/** What was said with a server in one attempt. */
export interface Conversation {
  readonly at: number
  readonly server: string
  readonly lines: readonly {
    readonly by: 'client' | 'server'
    readonly text: string
    /** Of a command its number, of a reply that of the command which it answers. */
    readonly command?: number
  }[]
  readonly leftOutCount: number
}

/** null: every one. */
export interface SuspensionTarget {
  readonly transport: string | null
  readonly nexthop: string | null
}

export interface Reply {
  readonly at: number
  readonly kind: 'delivered' | 'deferred' | 'failed'
  readonly status: string
  readonly text: string
  readonly remote: string | null
}

export interface Destination {
  readonly transport: string
  readonly nexthop: string
  readonly name: string
  readonly window: number
  readonly busy: number
  readonly todo: number
  readonly state: DestinationState
  readonly recovery: 'none' | 'canary' | 'slow-start'
  readonly rate: number
  /** What mail for it waits for; null: for no limit. */
  readonly limit: WaitingLimit | null
  readonly perSecond: { readonly delivered: number; readonly deferred: number; readonly failed: number }
  readonly lastReply: Reply | null
}

export interface Note {
  readonly kind: 'delivered' | 'deferred' | 'failed'
  readonly status: string
  readonly text: string
  readonly remote?: string
  /** First and last index of each range of recipients. */
  readonly ranges: readonly number[]
}

export interface Message {
  readonly id: string
  readonly sender: string
  readonly recipients: readonly string[]
  readonly recipientCount: number
  readonly queue: 'active' | 'incoming' | 'deferred' | 'hold'
  readonly lane: number
  readonly acceptedAt: number
  readonly attempts: number
  readonly dataBytes: number
  /** 0: now; null: on hold. */
  readonly dueAt: number | null
  readonly notes: readonly Note[]
}

export interface MessagePage {
  readonly messages: readonly Message[]
  readonly next: string | null
  readonly lookedAt: number
}

export interface HeaderField {
  readonly name: string
  readonly value: string
}

export interface Part {
  readonly part: string
  readonly type: string
  readonly charset: string | null
  readonly filename: string | null
  readonly disposition: string | null
  readonly encoding: string
  readonly bytes: number
  readonly parts?: readonly Part[]
}

export interface Structure {
  readonly header: readonly HeaderField[]
  readonly tree: Part
  readonly isTruncated: boolean
}

/** An outcome in the history of mail that may have ended. */
export interface HistoryEntry {
  readonly number: number
  readonly kind: string
  readonly at: number
  readonly id: string
  readonly sender: string
  readonly recipients: readonly string[]
  readonly recipientCount: number
  readonly status: string
  readonly text: string
  readonly remote: string
}

export interface HistoryRecord {
  readonly at: number
  readonly kind: string
  readonly log: string
  readonly position: number
  readonly lane: number
  readonly fields: Readonly<Record<string, unknown>>
}

export type Verb = 'hold' | 'release' | 'requeue' | 'flush' | 'reroute' | 'expire' | 'delete'

/** As the verbs of the command take it; a string from the URL, too. */
export type Selector = Readonly<Record<string, string | number | true>>

export interface Counts {
  readonly messageCount: number
  readonly recipientCount: number
  readonly missedCount: number
  readonly failedCount: number
}

export interface ProblemDetails {
  readonly title: string
  readonly status: number
  readonly detail?: string
  readonly code: string
  readonly scope?: string
}

export interface Operation {
  readonly id: string
  readonly do: Verb
  readonly selector: Selector
  readonly dryRun: boolean
  readonly by: string
  readonly startedAt: number
  readonly endedAt: number | null
  readonly state: 'running' | 'done' | 'stopped' | 'failed'
  readonly counts: Counts
  readonly sample?: readonly Message[]
  readonly problem: ProblemDetails | null
}

export interface Session {
  readonly name: string
  readonly scopes: readonly string[]
  readonly expiresAt: number | null
}

export interface LatestOutcome extends HistoryEntry {
  readonly kind: 'accepted' | 'delivered' | 'deferred' | 'failed'
}

/** A queue of a store, or the only one. */
export interface QueueRow {
  readonly name: string
  /** It is the one behind this page. */
  readonly isHere: boolean
  readonly home: string | null
  readonly owner: string | null
  readonly address: string | null
  readonly epoch: number | null
  readonly state: 'beats' | 'silent' | 'none'
  /** Since its owner renewed its ownership, as this relay saw it; null: no renewal was seen. */
  readonly silentMsMin: number | null
  readonly silentMsMax: number | null
  readonly usedBytes: number | null
  readonly quotaBytes: number | null
  /** null: it is elsewhere. */
  readonly activeCount: number | null
  readonly waitingBytes: number | null
}

export interface Queues {
  /** null: the queue lies in a directory. */
  readonly store: string | null
  readonly timeline: number | null
  readonly standbyCount: number | null
  readonly unsafe: readonly string[]
  readonly queues: readonly QueueRow[]
}
