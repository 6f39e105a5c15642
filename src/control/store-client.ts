/** Calls the process that owns a queue in a store.
 * Invariant: without a process that takes the call, nothing was asked of anybody. */
import { pause, type Clock } from '../base/clock.js'
import { WaybillError } from '../errors.js'
import type { CallConnection, CallStore } from '../store/calls.js'
import type { Answer } from '../store/store.js'
import { CallStream } from './call-stream.js'

/** How long a process that is connected may take to answer a call. */
const takeWaitMs = 5000
const lookMs = 50

/** @returns undefined if no process that lives owns the queue, or if it takes no calls
 * @throws WaybillError STORE_UNREACHABLE, DISK_FAILED */
export async function callOwner(
  store: CallStore,
  queue: string,
  clock: Clock,
): Promise<CallStream | undefined> {
  const connected = await store.connectCalls()
  // Of an earlier version: its owner takes no calls.
  if (isOf(connected, 'NOT_A_QUEUE')) return undefined
  const connection = valueOf(store, connected)
  try {
    const call = await placed(store, connection, queue, clock)
    if (call !== undefined) {
      const stream = new CallStream(connection.calls, call, 'caller', clock)
      stream.once('close', () => connection.calls.close())
      return stream
    }
  } catch (error) {
    connection.calls.close()
    throw error
  }
  connection.calls.close()
  return undefined
}

async function placed(
  store: CallStore,
  { calls, session }: CallConnection,
  name: string,
  clock: Clock,
): Promise<string | undefined> {
  const row = valueOf(store, await session.queueNamed(name))
  if (row === undefined) return undefined
  const isOwned = async (): Promise<boolean> => valueOf(store, await session.standing(row.queue)).isConnected
  if (!(await isOwned())) return undefined
  const call = valueOf(store, await calls.place(row.queue))
  const startedMs = clock.monotonicMs()
  while (!valueOf(store, await calls.isTaken(call))) {
    const isLate = clock.monotonicMs() - startedMs >= takeWaitMs
    if ((isLate || !(await isOwned())) && valueOf(store, await calls.withdraw(call))) return undefined
    await pause(clock, lookMs, undefined)
  }
  return call
}

const isOf = (answer: Answer<unknown>, code: string): boolean =>
  answer.kind === 'refused' && answer.refusal.kind === 'failed' && answer.refusal.error.code === code

function valueOf<T>(store: CallStore, answer: Answer<T>): T {
  if (answer.kind === 'done') return answer.value
  if (answer.kind === 'refused' && answer.refusal.kind === 'failed') throw answer.refusal.error
  const cause = answer.kind === 'unknown' ? answer.error : undefined
  const reason = cause?.message ?? 'the store refused a call'
  throw new WaybillError('STORE_UNREACHABLE', reason, { directory: store.name }, cause)
}
