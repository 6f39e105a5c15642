/** Destinations as they are shown, those first that keep the most mail. Pure. */
import type { DestinationSnapshot } from '../../scheduler/scheduler.js'
import type { DestinationRates, LastReply } from './traffic.js'

export interface ShownDestination extends Omit<DestinationSnapshot, 'state'> {
  readonly state:
    | { readonly kind: 'ready' }
    | { readonly kind: 'suspended'; readonly untilAt: number }
    | {
        readonly kind: 'dead'
        readonly untilAt: number
        readonly status: string
        readonly text: string
        readonly remote: string | null
      }
  readonly perSecond: DestinationRates
  readonly lastReply: LastReply | null
}

const states = ['dead', 'suspended', 'ready'] as const

export const byImpact = (a: DestinationSnapshot, b: DestinationSnapshot): number =>
  states.indexOf(a.state.kind) - states.indexOf(b.state.kind) || b.todo + b.busy - (a.todo + a.busy)

export function shownDestination(
  destination: DestinationSnapshot,
  { perSecond, lastReply }: Pick<ShownDestination, 'perSecond' | 'lastReply'>,
): ShownDestination {
  return { ...destination, state: shownState(destination), perSecond, lastReply }
}

function shownState({ state }: DestinationSnapshot): ShownDestination['state'] {
  switch (state.kind) {
    case 'ready':
      return state
    case 'suspended':
      return { kind: 'suspended', untilAt: state.untilMs }
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
