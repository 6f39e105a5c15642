/** The thread of smtp-front.ts: the server of smtp-in.ts, before a port behind which the queue is. */
import { parentPort, workerData } from 'node:worker_threads'
import type { ThreadNews, ThreadOrder } from './smtp-front.js'
import { listenSmtp } from './smtp-in.js'
import { portError, queueBehind } from './submission-port.js'

const { options, limits } = workerData as ThreadOrder
const port = parentPort!
const tell = (news: ThreadNews): void => port.postMessage(news)

try {
  const listener = await listenSmtp(queueBehind(port, limits), {
    ...options,
    onError: (error) => tell({ kind: 'trouble', error: portError(error) }),
    onRefusal: (refusal) => tell({ kind: 'refusal', refusal }),
  })
  tell({ kind: 'listening', ports: listener.ports })
} catch (error) {
  tell({ kind: 'refused', error: portError(error) })
}
