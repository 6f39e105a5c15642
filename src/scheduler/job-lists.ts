/** The two lists of a transport's jobs: the scheduler's order, which preemption changes, and the
 * order of time, which it does not. Invariant: both hold the same jobs; without preemption both are
 * the same. */
import type { Job } from './job.js'
import type { Transport } from './transport.js'

/** Puts `job` into the scheduler's list behind `previous` (first, when undefined). */
export function insertInOrder(transport: Transport, previous: Job | undefined, job: Job): void {
  const next = previous === undefined ? transport.firstJob : previous.next
  job.previous = previous
  job.next = next
  if (previous === undefined) transport.firstJob = job
  else previous.next = job
  if (next === undefined) transport.lastJob = job
  else next.previous = job
}

export function removeFromOrder(transport: Transport, job: Job): void {
  const { previous, next } = job
  if (previous === undefined) transport.firstJob = next
  else previous.next = next
  if (next === undefined) transport.lastJob = previous
  else next.previous = previous
  job.previous = job.next = undefined
}

/** Puts `job` into the list of time behind `older` (first, when undefined). */
export function insertInTime(transport: Transport, older: Job | undefined, job: Job): void {
  const younger = older === undefined ? transport.oldestJob : older.younger
  job.older = older
  job.younger = younger
  if (older === undefined) transport.oldestJob = job
  else older.younger = job
  if (younger === undefined) transport.youngestJob = job
  else younger.older = job
}

export function removeFromTime(transport: Transport, job: Job): void {
  const { older, younger } = job
  if (older === undefined) transport.oldestJob = younger
  else older.younger = younger
  if (younger === undefined) transport.youngestJob = older
  else younger.older = older
  job.older = job.younger = undefined
}
