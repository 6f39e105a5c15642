/** Begins an operation of the relay, and follows it to its end.
 * Invariant: the last state shown is the end of the operation, also after a lost connection. A
 * relay that was started again does not know the operation, and that is shown. */
import type { Operation } from '../facts/api.js'
import { ApiError, errorText, type Client } from './client.js'
import { pause } from './feed.js'

const askAgainMs = 1000

/** @param onProgress told now and then, and when the relay does not answer
 * @returns undefined when it was aborted: the operation goes on
 * @throws ApiError */
export async function followed(
  client: Client,
  request: object,
  signal: AbortSignal,
  onProgress: (operation: Operation, isAway: boolean) => void,
): Promise<Operation | undefined> {
  let operation = await client.post<Operation>('/v1/operations', request)
  while (operation.state === 'running' && !signal.aborted) {
    onProgress(operation, false)
    try {
      for await (const { name, data } of client.stream(`/v1/operations/${operation.id}/stream`, signal)) {
        if (name !== 'operation') continue
        operation = JSON.parse(data) as Operation
        if (operation.state === 'running') onProgress(operation, false)
      }
    } catch (error) {
      if (signal.aborted) return undefined
      if (!(error instanceof ApiError) || error.problem.status !== 0) throw error
      onProgress(operation, true)
      await pause(askAgainMs, signal)
    }
  }
  return signal.aborted ? undefined : operation
}

export const failureText = (error: unknown): string =>
  error instanceof ApiError && error.problem.status === 404
    ? 'The relay was started again meanwhile and does not know this operation. What was done until then stays done: count again to see what is left.'
    : errorText(error)
