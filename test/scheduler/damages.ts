/** Damages to selection and preemption: one rule per entry, with the text that states it in the
 * source. */

export interface Damage {
  readonly rule: string
  readonly file: string
  readonly find: string
  readonly replace: string
}

export const selectionDamages: readonly Damage[] = [
  {
    rule: 'a preempting job is charged to the job before which it slips in',
    file: 'preemption.ts',
    find: 'current.slotsAvailable -= needed * deliverySlotCost',
    replace: '',
  },
  {
    rule: 'unused slots come back when a job leaves the stack',
    file: 'preemption.ts',
    find: 'parent.slotsAvailable -= job.slotsUsed * transport.settings.deliverySlotCost',
    replace: '',
  },
  {
    rule: 'an adopted child does not change the account of its new parent',
    file: 'preemption.ts',
    find: 'if (job.level === parent.level + 1)',
    replace: 'if (job.level > 0)',
  },
  {
    rule: 'children of a job that leaves are adopted by its parent',
    file: 'preemption.ts',
    find: 'if (parent !== undefined) addChild(parent, child)',
    replace: '',
  },
  {
    rule: 'a job with children is no candidate',
    file: 'preemption.ts',
    find: 'if (job.firstChild !== undefined || job.isBlocker) continue',
    replace: 'if (job.isBlocker) continue',
  },
  {
    rule: 'the loan counts',
    file: 'preemption.ts',
    find: ' + deliverySlotLoan',
    replace: '',
  },
  {
    rule: 'the discount counts',
    file: 'preemption.ts',
    find: '(needed * (100 - deliverySlotDiscount)) / 100',
    replace: 'needed',
  },
  {
    rule: 'small jobs are not preempted',
    file: 'preemption.ts',
    find: 'if (current.entriesMax < minimumDeliverySlots * deliverySlotCost) return current',
    replace: '',
  },
  {
    rule: 'a candidate must fit into the slots that can still be earned',
    file: 'preemption.ts',
    find: 'needed <= slotsMax && score',
    replace: 'score',
  },
  {
    rule: 'a candidate is chosen by age over size',
    file: 'preemption.ts',
    find: 'const score = age / total',
    replace: 'const score = 1 / total',
  },
  {
    rule: 'a candidate found is kept for its second only',
    file: 'preemption.ts',
    find: 'transport.candidateSecond === nowSecond)',
    replace: 'nowSecond >= 0)',
  },
  {
    rule: 'the candidate is looked for anew when another job was selected',
    file: 'preemption.ts',
    find: 'if (job !== job.transport.candidateFor) job.transport.forgetCandidate()',
    replace: '',
  },
  {
    rule: 'peers take turns',
    file: 'peer.ts',
    find: 'job.peers = peer.ringNext\n      return peer',
    replace: 'return peer',
  },
  {
    rule: 'transports take turns',
    file: 'selection.ts',
    find: 'this.#head = at\n',
    replace: '',
  },
  {
    rule: 'two requests of a transport wait at most',
    file: 'selection.ts',
    find: 'const pendingMax = 2',
    replace: 'const pendingMax = 3',
  },
  {
    rule: 'an orphan of a deeper level keeps its place in time',
    file: 'job-life.ts',
    find: 'previous.parent !== undefined || ',
    replace: 'previous.level > 0 || ',
  },
  {
    rule: 'a job that comes back is linked by time',
    file: 'job-life.ts',
    find: '(previous.parent !== undefined || previous.message.queuedAtMs > message.queuedAtMs)',
    replace: 'previous.parent !== undefined',
  },
  {
    rule: 'a job leaves the list with its last selection',
    file: 'selection.ts',
    find: 'if (job.waiting === 0 && !job.message.unread) retireJob(job)',
    replace: '',
  },
  {
    rule: 'a blocked job is marked',
    file: 'selection.ts',
    find: 'block(job)\n',
    replace: 'job.blockerTag = 0\n',
  },
  {
    rule: 'blockers are released when a destination has room again',
    file: 'blockers.ts',
    find: 'transport.blockerTag += 2',
    replace: '',
  },
  {
    rule: 'selection begins anew when blockers are released',
    file: 'blockers.ts',
    find: 'transport.selectAnew()',
    replace: 'transport.forgetCandidate()\n  transport.floorFor = undefined',
  },
  {
    rule: 'the floor follows jobs that come to need less',
    file: 'preemption.ts',
    find: 'if (needed > 0 && needed < transport.neededFloor) transport.neededFloor = needed',
    replace: '',
  },
]
