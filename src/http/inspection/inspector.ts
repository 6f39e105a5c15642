/** Inspections on threads beside the relay's.
 * Invariant: `runningMax` run at once and `waitingMax` wait. Each has a bounded heap, and ends
 * with its client, as does its wait: what it costs the relay is processor time. */
import { Worker } from 'node:worker_threads'
import { WaybillError } from '../../errors.js'
import { ProblemError } from '../wire/problem-details.js'
import type { Inspect, InspectionAnswer, InspectionOrder, OnProgress } from './orders.js'
import type { ThreadNews } from './inspection-thread.js'

const runningMax = 2
const waitingMax = 8
const heapMiB = 256

export interface ThreadTask {
  readonly path: string
  readonly order: InspectionOrder
}

/** @param path of the queue's directory */
export function threadedInspect(path: string): Inspect {
  let runningCount = 0
  const waiting = new Set<() => void>()
  const turn = async (signal: AbortSignal): Promise<void> => {
    if (runningCount < runningMax) return void runningCount++
    if (waiting.size >= waitingMax)
      throw new ProblemError('TOO_MANY_REQUESTS', `${waitingMax} inspections wait already`)
    await new Promise<void>((resolve, reject) => {
      if (signal.aborted) return reject(left())
      const leave = (): void => {
        waiting.delete(begin)
        reject(left())
      }
      const begin = (): void => {
        signal.removeEventListener('abort', leave)
        resolve()
      }
      waiting.add(begin)
      signal.addEventListener('abort', leave)
    })
  }
  const passTurn = (): void => {
    const [next] = waiting
    if (next === undefined) return void runningCount--
    waiting.delete(next)
    next()
  }
  return async (order, onProgress, signal) => {
    await turn(signal)
    try {
      return await onThread({ path, order }, onProgress, signal)
    } finally {
      passTurn()
    }
  }
}

function onThread(task: ThreadTask, onProgress: OnProgress, signal: AbortSignal): Promise<InspectionAnswer> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(left())
    const thread = new Worker(new URL('./inspection-thread.js', import.meta.url), {
      workerData: task,
      resourceLimits: { maxOldGenerationSizeMb: heapMiB },
    })
    const end = (): void => {
      signal.removeEventListener('abort', abort)
      void thread.terminate()
    }
    const abort = (): void => {
      end()
      reject(left())
    }
    signal.addEventListener('abort', abort)
    thread.on('message', (news: ThreadNews) => {
      if (news.kind === 'progress') return onProgress(news.done, news.all)
      end()
      if (news.kind === 'answer') return resolve(news.answer)
      const { code, message, place } = news.error
      reject(new WaybillError(code, message, place))
    })
    thread.on('error', (error) => {
      end()
      reject(error)
    })
    thread.on('exit', () => {
      end()
      reject(new ProblemError('NOT_READY', 'the inspection has ended without an answer'))
    })
  })
}

const left = (): ProblemError => new ProblemError('NOT_READY', 'the client has left')
