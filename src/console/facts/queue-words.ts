/** Words for the queues of a store and for their nodes. Pure. */
import type { QueueRow } from './api.js'
import { counted, spanText } from './format.js'

/** A node as the queues show it. */
export interface NodeRow {
  readonly name: string
  readonly address: string | null
  /** Queues that it has now, and those whose home it is. */
  readonly owned: readonly string[]
  readonly homes: readonly string[]
  /** `away`: it owns none. */
  readonly state: 'beats' | 'silent' | 'away'
}

/** Nodes that own a queue or are the home of one, by name. */
export function nodesOf(queues: readonly QueueRow[]): readonly NodeRow[] {
  const names = new Set(queues.flatMap(({ home, owner }) => [home, owner]).filter((name) => name !== null))
  return [...names].sort().map((name) => {
    const owned = queues.filter(({ owner }) => owner === name)
    const beats = owned.some(({ state }) => state === 'beats')
    return {
      name,
      address: owned.find(({ address }) => address !== null)?.address ?? null,
      owned: owned.map((queue) => queue.name),
      homes: queues.filter(({ home }) => home === name).map((queue) => queue.name),
      state: owned.length === 0 ? 'away' : beats ? 'beats' : 'silent',
    }
  })
}

export const isAdopted = ({ home, owner }: QueueRow): boolean =>
  owner !== null && home !== null && owner !== home

/** `has an owner`, where it is said of the queue; the badge of its state. */
export const queueStateWords: Readonly<Record<QueueRow['state'], string>> = {
  beats: 'has an owner',
  silent: 'owner is silent',
  none: 'never opened',
}

export const nodeStateWords: Readonly<Record<NodeRow['state'], string>> = {
  beats: 'alive',
  silent: 'silent',
  away: 'owns no queue',
}

/** When the owner has renewed its ownership: a bound, for it was seen from here. */
export function renewalText({ state, silentMsMin, silentMsMax, epoch }: QueueRow): string {
  if (epoch === null) return 'this relay has it'
  if (state === 'none') return 'no node has had it yet'
  if (state === 'beats' && silentMsMax !== null) return `renewed less than ${upText(silentMsMax)} ago`
  return `not renewed for at least ${spanText(silentMsMin ?? 0)}`
}

/** An upper bound stays one. */
const upText = (ms: number): string => spanText(Math.max(1, Math.ceil(ms / 1000)) * 1000)

/** `2 synchronous standbys`, where that is seen. */
export const standbysText = (count: number | null): string =>
  count === null ? 'not visible to this role' : counted(count, 'synchronous standby', 'synchronous standbys')
