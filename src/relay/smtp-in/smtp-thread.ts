/** The thread of smtp-front.ts: the server of smtp-in.ts, before a port behind which the queue
 * is. */
import { parentPort, workerData } from 'node:worker_threads'
import type { LeaveOrder, PortsOrder, TablesOrder, ThreadNews, ThreadOrder } from './smtp-front.js'
import { listenSmtp } from './smtp-in.js'
import { portError, queueBehind, type FromQueue } from './submission-port.js'

const { options, limits } = workerData as ThreadOrder
const port = parentPort!
const tell = (news: ThreadNews): void => port.postMessage(news)

try {
  const listener = await listenSmtp(queueBehind(port, limits), {
    ...options,
    onError: (error) => tell({ kind: 'trouble', error: portError(error) }),
    onRefusal: (refusal) => tell({ kind: 'refusal', refusal }),
  })
  port.on('message', (order: TablesOrder | PortsOrder | LeaveOrder | FromQueue) => {
    if (order.kind === 'close ports') listener.closePorts()
    if (order.kind === 'leave') void listener.leave().then(() => order.answerTo.postMessage(undefined))
    if (order.kind !== 'tables') return
    const { tables, answerTo } = order
    listener.takeUp(tables).then(
      () => answerTo.postMessage(undefined),
      (error: unknown) => answerTo.postMessage(portError(error)),
    )
  })
  tell({ kind: 'listening', ports: listener.ports })
} catch (error) {
  tell({ kind: 'refused', error: portError(error) })
}
