/** Destinations as the API shows them: those with the most mail first. Pure. */
import type { DestinationSnapshot, WaitingLimit } from '../../scheduler/scheduler.js'
import type { DestinationRates, LastReply } from './traffic.js'

export interface ShownDestination extends Omit<DestinationSnapshot, 'state' | 'limit'> {
  readonly state:
    | { readonly kind: 'ready' }
    | {
        readonly kind: 'suspended'
        /** null: until it is resumed. */
        readonly untilAt: number | null
        /** What an operator has suspended; null: it waits for its rate. */
        readonly order: { readonly transport: string | null; readonly nexthop: string | null } | null
      }
    | {
        readonly kind: 'dead'
        readonly untilAt: number
        readonly status: string
        readonly text: string
        readonly remote: string | null
      }
  /** What mail for it waits for; null: for no limit. */
  readonly limit: ShownLimit | null
  readonly perSecond: DestinationRates
  readonly lastReply: LastReply | null
}

export interface ShownLimit {
  readonly kind: WaitingLimit['kind']
  readonly name: string
  readonly count: number
  readonly perMs: number
  readonly untilAt: number
}

const states = ['dead', 'suspended', 'ready'] as const

const troubleOf = ({ state, limit }: DestinationSnapshot): number =>
  states.indexOf(state.kind) + (state.kind === 'ready' && limit === undefined ? 1 : 0)

export const byImpact = (a: DestinationSnapshot, b: DestinationSnapshot): number =>
  troubleOf(a) - troubleOf(b) || b.todo + b.busy - (a.todo + a.busy)

export function shownDestination(
  destination: DestinationSnapshot,
  { perSecond, lastReply }: Pick<ShownDestination, 'perSecond' | 'lastReply'>,
): ShownDestination {
  const { limit } = destination
  const shown = limit === undefined ? null : shownLimit(limit)
  return { ...destination, state: shownState(destination), limit: shown, perSecond, lastReply }
}

const shownLimit = ({ kind, name, count, perMs, untilMs }: WaitingLimit): ShownLimit => ({
  kind,
  name,
  count,
  perMs,
  untilAt: untilMs,
})

function shownState({ state }: DestinationSnapshot): ShownDestination['state'] {
  switch (state.kind) {
    case 'ready':
      return state
    case 'suspended':
      return shownSuspension(state)
    case 'dead': {
      const { status, text, remote } = state.reason
      return {
        kind: 'dead',
        untilAt: state.untilMs,
        status,
        text,
        remote: remote ?? null,
      }
    }
  }
}

const shownSuspension = ({
  untilMs,
  order,
}: Extract<DestinationSnapshot['state'], { kind: 'suspended' }>): ShownDestination['state'] => ({
  kind: 'suspended',
  untilAt: untilMs === Infinity ? null : untilMs,
  order: order === undefined ? null : { transport: order.transport ?? null, nexthop: order.nexthop ?? null },
})
