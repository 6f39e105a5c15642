/** The thread of inspector.ts: one inspection, and its answer. */
import { parentPort, workerData } from 'node:worker_threads'
import { isWaybillError, type ErrorCode, type Place } from '../../errors.js'
import { inspected } from './inspected.js'
import type { ThreadTask } from './inspector.js'
import type { InspectionAnswer } from './orders.js'

export type ThreadNews =
  | { readonly kind: 'progress'; readonly done: number; readonly all: number }
  | { readonly kind: 'answer'; readonly answer: InspectionAnswer }
  | {
      readonly kind: 'error'
      readonly error: { readonly code: ErrorCode; readonly message: string; readonly place: Place }
    }

const port = parentPort!
const tell = (news: ThreadNews): void => port.postMessage(news)
/** Parts of the whole that are distinguished. */
const stepsMax = 200

const { path, order } = workerData as ThreadTask
let toldStep = -1
try {
  const answer = await inspected(path, order, (done, all) => {
    const step = Math.floor((done / Math.max(1, all)) * stepsMax)
    if (step === toldStep) return
    toldStep = step
    tell({ kind: 'progress', done, all })
  })
  tell({ kind: 'answer', answer })
} catch (error) {
  if (!isWaybillError(error)) throw error
  const { code, message, place } = error
  tell({ kind: 'error', error: { code, message, place } })
}
