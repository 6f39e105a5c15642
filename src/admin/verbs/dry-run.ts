/** Counts the messages that a verb would act on, and shows the first of them.
 * Invariant: it orders and appends nothing. A message that moves meanwhile is counted once. */
import { ActiveMessage } from '../../active/active-message.js'
import { nowhere } from '../../base/position.js'
import { listedMessage, selected, soonAtLeast, type ListedMessage, type Selected } from '../select/listing.js'
import { selectsUnread, type Selector } from '../select/selector.js'
import { WalkDamage } from '../select/walk-damage.js'
import type { OpenedEngine } from '../../engine/open.js'
import { unreadCount, type Verb } from './pass.js'
import type { Tally, VerbResult } from './tally.js'

/** @throws WaybillError as the verb, DISK_FULL while a recovery waits for room */
export async function dryRun(
  opened: OpenedEngine,
  selector: Selector,
  verb: Verb,
  tally: Tally,
): Promise<VerbResult> {
  const { parts, engine } = opened
  await engine.whenRecovered()
  const damage = new WalkDamage(parts.life)
  const trust = (): Promise<void> => soonAtLeast(parts, engine.checkpointer.now())
  const sample: ListedMessage[] = []
  for await (const batch of selected(parts, selector, {
    trust,
    isAsked: verb.isAsked,
    signal: tally.signal,
    damage,
  })) {
    for (const found of batch) {
      if (verb.orderFor(found) === undefined) continue
      tally.done(waitingCountOf(found))
      if (sample.length >= tally.sampleMax) continue
      const { id } = found.message.envelope
      const listed = await damage.of(id, listedMessage(parts, found))
      if (listed !== undefined) sample.push(listed)
    }
    tally.pause()
  }
  if (selectsUnread(selector)) tally.failedCount += unreadCount(opened, verb)
  tally.pause()
  damage.tell()
  return { ...tally.result, sample }
}

function waitingCountOf({ kind, message }: Selected): number {
  const counted =
    kind === 'active' ? message : new ActiveMessage(message.envelope, message.place, nowhere, undefined)
  return counted.pendingCount + counted.deferredCount
}
