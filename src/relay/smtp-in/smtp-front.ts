/** SMTP in on a separate thread, so that sessions and the queue do not wait for each other's
 * processor.
 * Invariant: to clients it is the server of smtp-in.ts, and `250` means the same: the queue's
 * answer comes before it. What would end the process on one thread ends it on two. */
import { once } from 'node:events'
import { MessageChannel, Worker, type MessagePort } from 'node:worker_threads'
import type { SubmitPort } from './smtp-handlers.js'
import type { ClientTables, Refusal, SmtpListener, SmtpServerOptions } from './smtp-in.js'
import { answerSubmissions, errorOf, type PortError } from './submission-port.js'

/** What can be told to another thread. */
export type SmtpFrontOptions = Omit<SmtpServerOptions, 'clock' | 'onError' | 'onRefusal'>

export type SmtpFrontCallbacks = Required<Pick<SmtpServerOptions, 'onError' | 'onRefusal'>>

export interface ThreadOrder {
  readonly options: SmtpFrontOptions
  readonly limits: SubmitPort['limits']
}

/** Messages to the thread after it listens; all others are about submissions. */
export interface TablesOrder {
  readonly kind: 'tables'
  readonly tables: ClientTables
  /** Hears a `PortError`, or undefined when they are taken up. */
  readonly answerTo: MessagePort
}

/** Drops the ports. */
export interface PortsOrder {
  readonly kind: 'close ports'
}

/** Ends the sessions. */
export interface LeaveOrder {
  readonly kind: 'leave'
  /** Hears `undefined` when they have ended. */
  readonly answerTo: MessagePort
}

/** What the thread says on its own account; all else is about submissions. */
export type ThreadNews =
  | { readonly kind: 'listening'; readonly ports: SmtpListener['ports'] }
  | { readonly kind: 'refused'; readonly error: PortError }
  | { readonly kind: 'trouble'; readonly error: PortError }
  | { readonly kind: 'refusal'; readonly refusal: Refusal }

/** Resolves when the server answers.
 * @throws WaybillError OPTION_INVALID; the system's error when the port cannot be had */
export async function listenSmtpOnThread(
  queue: SubmitPort,
  options: SmtpFrontOptions,
  { onError, onRefusal }: SmtpFrontCallbacks,
): Promise<SmtpListener> {
  const order: ThreadOrder = { options, limits: queue.limits }
  const thread = new Worker(new URL('./smtp-thread.js', import.meta.url), { workerData: order })
  let isClosed = false
  let refuse: ((error: unknown) => void) | undefined
  // Once it listens, as an exception that nobody catches does on one thread.
  thread.on('error', (error) => {
    if (refuse === undefined) throw error
    isClosed = true
    refuse(error)
  })
  const close = (): void => {
    isClosed = true
    void thread.terminate()
  }
  thread.on('exit', () => {
    if (!isClosed) throw new Error('the thread of the SMTP server has ended')
  })
  const carriedOut = async (
    orderOf: (answerTo: MessagePort) => TablesOrder | LeaveOrder,
  ): Promise<PortError | undefined> => {
    const { port1: answers, port2: answerTo } = new MessageChannel()
    const answered = once(answers, 'message')
    thread.postMessage(orderOf(answerTo), [answerTo])
    const [error] = (await answered) as [PortError | undefined]
    answers.close()
    return error
  }
  const takeUp = async (tables: ClientTables): Promise<void> => {
    const error = await carriedOut((answerTo) => ({ kind: 'tables', tables, answerTo }))
    if (error !== undefined) throw errorOf(error)
  }
  const leave = async (): Promise<void> => {
    await carriedOut((answerTo) => ({ kind: 'leave', answerTo }))
  }
  const closePorts = (): void => {
    const portsOrder: PortsOrder = { kind: 'close ports' }
    thread.postMessage(portsOrder)
  }
  answerSubmissions(thread, queue)
  return new Promise((resolve, reject) => {
    refuse = reject
    thread.on('message', (news: ThreadNews) => {
      if (news.kind === 'trouble') onError(errorOf(news.error))
      else if (news.kind === 'refusal') onRefusal(news.refusal)
      else if (news.kind === 'listening') {
        refuse = undefined
        resolve({ ports: news.ports, takeUp, closePorts, leave, close })
      } else if (news.kind === 'refused') {
        close()
        reject(errorOf(news.error))
      }
    })
  })
}
