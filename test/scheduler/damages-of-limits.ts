/** Damages to windows, memory limits, reads and withdrawal. */
import type { Damage } from './damages.js'

/** Postfix's rules: the recorded scenarios notice. */
export const memoryDamages: readonly Damage[] = [
  {
    rule: 'positive feedback comes at the end of its cycle',
    file: 'concurrency.ts',
    find: 'while (destination.success + lead >= 1) {',
    replace: 'while (destination.success + lead > 0) {',
  },
  {
    rule: 'negative feedback comes at the start of its cycle',
    file: 'concurrency.ts',
    find: 'while (destination.failure - lead < 0) {',
    replace: 'while (destination.failure - lead <= -1) {',
  },
  {
    rule: 'the shipped rounding is an option of its own',
    file: 'concurrency.ts',
    find: 'const lead = state.parameters.feedbackRounding ? amount / 2 : 0\n    destination.success',
    replace: 'const lead = 0\n    destination.success',
  },
  {
    rule: 'a window does not run away from what is in use',
    file: 'concurrency.ts',
    find: ' && destination.window < destination.busy + initialWindow',
    replace: '',
  },
  {
    rule: 'success forgives failed cohorts',
    file: 'concurrency.ts',
    find: "destination.failCohorts = 0\n  if (destination.state.kind === 'dead') {",
    replace: "if (destination.state.kind === 'dead') {",
  },
  {
    rule: 'a cohort counts by the window',
    file: 'concurrency.ts',
    find: 'destination.failCohorts += 1 / destination.window',
    replace: 'destination.failCohorts += 1',
  },
  {
    rule: 'revival begins with what is under way',
    file: 'concurrency.ts',
    find: 'destination.busy > 0 ? destination.busy : initialWindow',
    replace: 'initialWindow',
  },
  {
    rule: 'a destination without entries is forgotten',
    file: 'completion.ts',
    find: 'removeDestination(destination)\n  state.destinationCount--',
    replace: 'return',
  },
  {
    rule: 'a rate delay suspends',
    file: 'completion.ts',
    find: 'if (delivered && delays) delayRate(state, destination)',
    replace: '',
  },
  {
    rule: 'what waits for a dead destination goes to the retry transport',
    file: 'deferral.ts',
    find: 'if (retry === undefined) {',
    replace: 'if (retry === undefined || retry !== undefined) {',
  },
  {
    rule: 'slots go to the first job that can read more',
    file: 'recipient-slots.ts',
    find: 'if (transport.firstUnread !== undefined) takeUnusedSlots(transport.firstUnread)',
    replace: '',
  },
  {
    rule: 'lent slots go back first',
    file: 'recipient-slots.ts',
    find: 'if (lender.level < 0 || !message.unread) giveBackSlots(lender)',
    replace: '',
  },
  {
    rule: 'a preempting job that is not wholly read gets extra slots',
    file: 'preemption.ts',
    find: 'if (job.message.unread) takeExtraSlots(job)',
    replace: '',
  },
  {
    rule: 'a batch is read when enough slots are free',
    file: 'selection.ts',
    find: 'free >= recipientRefillLimit || ',
    replace: '',
  },
  {
    rule: 'a batch is read when the last one is old enough',
    file: 'selection.ts',
    find: ' || (free > 0 && waitedMs >= recipientRefillDelay * 1000)',
    replace: '',
  },
  {
    rule: 'a batch is read when no peer can be selected',
    file: 'selection.ts',
    find: 'readOn(state, message)\n  return job.waiting > 0 ? nextPeer(job) : undefined',
    replace: 'return undefined',
  },
  {
    rule: 'the first batch may use the common limit',
    file: 'intake.ts',
    find: 'Math.max(common, message.recipientLimit)',
    replace: 'message.recipientLimit',
  },
  {
    rule: 'recipients are taken in the order of their destinations',
    file: 'intake.ts',
    find: 'sortArrivals(found, byDestination)',
    replace: '',
  },
  {
    rule: 'recipients of a later batch fill the last entry that waits',
    file: 'intake.ts',
    find: 'last === undefined || (limit',
    replace: 'message.readCount > 0 || last === undefined || (limit',
  },
  {
    rule: 'a transport answers again after any reply',
    file: 'scheduler.ts',
    find: "if (result !== 'crash' && result !== 'untried' && transport.dead !== undefined)",
    replace: 'if (false)',
  },
]

/** Our own: reads that are put off, the hard bound of memory, withdrawal, suspension. The
 * properties notice. */
export const ownDamages: readonly Damage[] = [
  {
    rule: 'a promised batch counts as in memory',
    file: 'intake.ts',
    find: 'message.recipientCount += countMax\n  state.recipientCount += countMax',
    replace: '',
  },
  {
    rule: 'a read never exceeds the bound',
    file: 'intake.ts',
    find: 'Math.min(wanted, batchCountMax, state.recipientBound - state.recipientCount)',
    replace: 'Math.min(wanted, batchCountMax)',
  },
  {
    rule: 'a message that waits for room is read when there is room',
    file: 'scheduler.ts',
    find: 'releaseBounded(state)\n    this.#feedStarved()',
    replace: 'releaseBounded(state)',
  },
  {
    rule: 'a job that waits for its batch is tried again when it is there',
    file: 'scheduler.ts',
    find: 'if (job.isBlocker) unblock(job)',
    replace: '',
  },
  {
    rule: 'a resumed destination releases blockers',
    file: 'revival.ts',
    find: 'unsuspend(state, destination)\n    releaseBlockers(destination)',
    replace: 'unsuspend(state, destination)',
  },
  {
    rule: 'a withdrawn message is not read on',
    file: 'withdrawal.ts',
    find: 'message.unread = false',
    replace: '',
  },
  {
    rule: 'the window bounds a selection',
    file: 'destination.ts',
    find: 'return this.window > this.busy && this.state === ready',
    replace: 'return this.window >= this.busy && this.state === ready',
  },
  {
    rule: 'the reserve of processes goes to idle destinations',
    file: 'transport.ts',
    find: 'this.busy >= openProcessLimit',
    replace: 'this.busy > openProcessLimit',
  },
  {
    rule: 'a destination that has not answered is held back',
    file: 'destination.ts',
    find: 'this.state === ready && !this.isHeldBack',
    replace: 'this.state === ready',
  },
  {
    rule: 'what is held back goes on when fewer are under way',
    file: 'scheduler.ts',
    find: '    releaseHeldBack(transport)\n',
    replace: '',
  },
  {
    rule: 'mail is put off for others only while memory is crowded',
    file: 'crowding.ts',
    find: 'todo >= pace.keptMax && isCrowded(state)',
    replace: 'todo >= pace.keptMax',
  },
  {
    rule: 'the process limit bounds a selection',
    file: 'transport.ts',
    find: 'this.busy >= this.settings.processLimit',
    replace: 'this.busy > this.settings.processLimit',
  },
  {
    rule: 'a freed peer is no peer of its job any more',
    file: 'peer.ts',
    find: 'job.peerOf?.delete(peer.destination)',
    replace: '',
  },
  {
    rule: 'a ring keeps its bound',
    file: 'shared-bounds.ts',
    find: 'this.ring.busy < ringDeliveryCountMax &&',
    replace: '',
  },
  {
    rule: 'the bound of a transport is the one of the destination at hand',
    file: 'shared-bounds.ts',
    find: 'this.#transport.busy < transportDeliveryCountMax &&',
    replace: '',
  },
  {
    rule: 'all transports together keep their bound',
    file: 'scheduler.ts',
    find: 'state.total.busy--',
    replace: 'state.total.busy -= 2',
  },
  {
    rule: 'what waits for a shared bound goes on when there is room',
    file: 'scheduler.ts',
    find: 'releaseBounded(state)\n    this',
    replace: 'this',
  },
  {
    rule: 'a destination whose own deliveries have ended may wait for others',
    file: 'blockers.ts',
    find: 'else if (destination.bounds?.hasRoom === false) destination.bounds.holdsBack = true',
    replace: '',
  },
  {
    rule: 'what is under way counts when bounds change',
    file: 'shared-bounds.ts',
    find: '  bounds.ring.busy += destination.busy\n',
    replace: '',
  },
  {
    rule: 'the same bounds are one object until their last destination goes',
    file: 'shared-bounds.ts',
    find: 'if (--bounds.memberCount > 0) return',
    replace: '',
  },
]
