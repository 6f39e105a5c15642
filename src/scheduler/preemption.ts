/** Small jobs slip in before large ones, at a bounded price.
 * Invariant: a job pays `deliverySlotCost` selected entries for every entry of a job that
 * preempts it, so its delivery takes at most cost/(cost - 1) times as long, however deep
 * preemption nests. */
import { assert } from '../base/assert.js'
import { insertInOrder, removeFromOrder, type Job } from './job.js'
import { takeExtraSlots } from './recipient-slots.js'

/** The job that is selected from now: the current one, or the one that preempts it. */
export function preempt(current: Job, nowMs: number): Job {
  const transport = current.transport
  const { deliverySlotCost, minimumDeliverySlots, deliverySlotLoan, deliverySlotDiscount } =
    transport.settings
  if (current.slotsAvailable <= 0) return current
  if (current.entriesMax < minimumDeliverySlots * deliverySlotCost) return current
  const job = candidateFor(current, Math.floor(nowMs / 1000))
  if (job === undefined) return current
  const needed = job.entriesMax - job.selectedEntries
  const earned = Math.trunc(current.slotsAvailable / deliverySlotCost) + deliverySlotLoan
  if (earned < (needed * (100 - deliverySlotDiscount)) / 100) return current

  if (job.level > 0) popFromStack(job)
  removeFromOrder(transport, job)
  insertInOrder(transport, current.previous, job)
  job.level = current.level + 1
  addChild(current, job)
  transport.currentJob = job
  transport.forgetCandidate()
  // The whole price is due at once; otherwise several jobs could preempt with the same slots;
  // popFromStack() corrects it.
  current.slotsAvailable -= needed * deliverySlotCost
  job.slotsUsed = -needed
  if (job.message.unread) takeExtraSlots(job)
  return job
}

/** The job behind `current` that has waited longest for its size and fits into the slots that
 * `current` can still earn. */
export function candidateFor(current: Job, nowSecond: number): Job | undefined {
  const transport = current.transport
  const known = transport.candidateFor === current
  if (known && (transport.candidate === undefined || transport.candidateSecond === nowSecond))
    return transport.candidate
  const { deliverySlotCost } = transport.settings
  const slotsMax = Math.trunc((current.waiting + current.slotsAvailable) / deliverySlotCost)
  const hopeless = transport.floorFor === current && slotsMax < transport.neededFloor
  transport.candidate = slotsMax > 0 && !hopeless ? scan(current, slotsMax, nowSecond) : undefined
  transport.candidateFor = current
  transport.candidateSecond = nowSecond
  return transport.candidate
}

/** Cost: one step per job behind the current one, unless a good one comes first. When none was
 * found it is not repeated, for this current job or those behind it, until a job that is small
 * enough appears, blockers are released, or the preemption tree changes. */
function scan(current: Job, slotsMax: number, nowSecond: number): Job | undefined {
  const { transport } = current
  let best: Job | undefined
  let bestScore = 0
  let neededMin = Infinity
  transport.scanCount++
  for (let job = current.next; job !== undefined; job = job.next) {
    transport.scannedJobs++
    if (job.firstChild !== undefined || job.isBlocker) continue
    const total = job.entriesMax
    const needed = total - job.selectedEntries
    const age = nowSecond - job.message.queuedSecond + 1
    if (needed > 0) {
      if (needed < neededMin) neededMin = needed
      const score = age / total
      if (needed <= slotsMax && score > bestScore) {
        bestScore = score
        best = job
      }
    }
    // Jobs on level 0 come in the order of time: none behind can beat this one's age, which is its
    // score at best.
    if (age <= bestScore && job.level === 0) break
  }
  transport.floorFor = best === undefined ? current : undefined
  transport.neededFloor = neededMin
  return best
}

/** The job may need fewer entries than before: the floor must not lie above that. */
export function lowerFloor(job: Job): void {
  const { transport } = job
  if (transport.floorFor === undefined || transport.floorFor === job) return
  const needed = job.entriesMax - job.selectedEntries
  if (needed > 0 && needed < transport.neededFloor) transport.neededFloor = needed
}

/** An entry of the job was selected: it earned a slot's fraction, and used a slot of the job
 * that it preempted. */
export function countSlot(job: Job): void {
  job.slotsAvailable++
  job.slotsUsed++
  lowerFloor(job)
  if (job !== job.transport.candidateFor) job.transport.forgetCandidate()
}

/** Takes the job out of the preemption tree; its place in the scheduler's list is the
 * caller's to change. */
export function popFromStack(job: Job): void {
  assert(job.level > 0, 'a job that is popped has preempted another')
  const { parent, transport } = job
  if (parent !== undefined) {
    // An adopted child was never charged to this parent: the level tells.
    if (job.level === parent.level + 1)
      parent.slotsAvailable -= job.slotsUsed * transport.settings.deliverySlotCost
    removeChild(parent, job)
  }
  passChildrenTo(job, parent)
  job.level = 0
  transport.forgetCandidate()
  transport.floorFor = undefined
}

/** The children's parent is gone: their grandparent adopts them, if there is one. */
export function passChildrenTo(job: Job, parent: Job | undefined): void {
  for (let child = job.firstChild; child !== undefined; child = job.firstChild) {
    removeChild(job, child)
    if (parent !== undefined) addChild(parent, child)
  }
}

function addChild(parent: Job, child: Job): void {
  child.parent = parent
  child.siblingPrevious = parent.lastChild
  if (parent.lastChild === undefined) parent.firstChild = child
  else parent.lastChild.siblingNext = child
  parent.lastChild = child
}

function removeChild(parent: Job, child: Job): void {
  const { siblingPrevious, siblingNext } = child
  if (siblingPrevious === undefined) parent.firstChild = siblingNext
  else siblingPrevious.siblingNext = siblingNext
  if (siblingNext === undefined) parent.lastChild = siblingPrevious
  else siblingNext.siblingPrevious = siblingPrevious
  child.siblingPrevious = child.siblingNext = undefined
  child.parent = undefined
}
