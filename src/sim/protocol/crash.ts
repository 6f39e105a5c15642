/** The ends of a life: the process is killed, the power is lost, a sync fails and the page cache
 * lies about it.
 * Invariant: durable records stay; of the rest of the journal the content of one write may be
 * there, whole. The kernel outlives the process and forgets with the power. The tail is made
 * durable and the suffix read in one step: a crash before that equals the crash that ended the
 * life, with fewer records. A known disk is not recovered again. */
import { isDirty, synced, unsynced, learnedDurable } from './checkpoint.js'
import { chosen, cuts, tornCuts, without as allBut, written, type History } from './history.js'
import { recoveries } from './recovery.js'
import type { Step } from './search.js'
import { crashesMax, laneKey, restartKey, type State } from './state.js'
import type { Variant } from './variant.js'

export function crashSteps(state: State, variant: Variant): Step<State>[] {
  if (state.crashCount === crashesMax) return []
  const { without, knownDisks } = variant
  const base = state.crashCount + restartKey(state)
  const steps: Step<State>[] = []
  const after = (kind: string, lane: State['lane'], histories: readonly History[]): void => {
    const left = base + laneKey(lane)
    for (const history of histories) {
      let key = left
      for (const entry of history) key += entry.key
      if (knownDisks.has(key)) continue
      knownDisks.add(key)
      const name = kind + lost(state, history)
      for (const next of recoveries(ended(state, history, lane), variant)) steps.push({ name, next })
    }
  }
  const { pending, lane, history } = state
  const isLaneDirty = isDirty(state)
  const durable = written(history, 'durable')
  const possible = cuts(history)
  const kept = possible.map((cut) => chosen(durable, cut))
  after('the process is killed', lane, kept)
  if (pending !== undefined && !pending.isSynced && isLaneDirty)
    after('the sync of the lane fails', unsynced(lane), kept)
  // The page cache shows the batch. Rewritten, the first thing that a recovery does, it is as
  // durable as if the sync had come back.
  const isRewritten = without !== 'the last batch is rewritten, not only synced'
  const shown = isRewritten ? durable : written(history, 'limbo')
  const believed = possible.map((cut) => chosen(shown, cut))
  after(
    'a sync of the journal fails',
    lane,
    believed.filter((cut) => isRewritten || !hasCheckpoint(cut)),
  )
  const isWhole = without !== 'a batch counts all or nothing'
  const isAllDurable = [...durable, ...lane].every(({ disk }) => disk === 'durable')
  // Then the power takes nothing that a kill would leave.
  if (isWhole && isAllDurable) return steps
  const survivors = isWhole ? kept : tornCuts(history).map((cut) => chosen(durable, cut))
  const onDevice = survivors.map((cut) => allBut(cut, ({ disk }) => disk === 'limbo'))
  const neverWritten = upTo(lane, ({ disk }) => disk !== 'durable')
  const writtenBack = synced(upTo(lane, ({ disk }) => disk === 'limbo'))
  after('power is lost', neverWritten, onDevice)
  if (isLaneDirty) after('power is lost, the lane had been written', writtenBack, onDevice)
  return steps
}

/** Without the rule, a record in a batch that is never rewritten would have to be forgotten again:
 * that case is left out. */
const hasCheckpoint = (history: History): boolean => history.some(({ body }) => body.kind === 'checkpoint')

const ended = (state: State, history: History, lane: State['lane']): State =>
  learnedDurable({
    ...state,
    phase: 'scanning',
    crashCount: state.crashCount + 1,
    history,
    pending: undefined,
    lane,
    marked: [],
    fresh: [],
    active: [],
    waiting: [],
    released: [],
  })

function upTo<T>(list: readonly T[], isEnd: (one: T) => boolean): readonly T[] {
  const at = list.findIndex(isEnd)
  return at < 0 ? list : list.slice(0, at)
}

/** How many of its records the life has in vain. */
function lost({ history }: State, kept: History): string {
  const count = history.length - kept.length
  return `${count === 0 ? '' : `, records lost: ${count}`}; the next life recovers`
}
