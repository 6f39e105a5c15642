/** `waybill/nodemailer`: a transport that submits, `createTransport(queueTransport(queue))`.
 * Invariant: `sendMail` resolves when the message is durable, and not before. If it rejects, the
 * message was not accepted, except after QUEUE_CRASHED and DISK_FAILED, when it may be there. The
 * message is read as a stream and held in memory only up to the queue's `inlineBytesMax`. The queue
 * is the embedder's: closing the transport closes nothing. */
import { EventEmitter } from 'node:events'
import type { SentMessageInfo, Transport } from 'nodemailer'
import { isError } from '../base/realms.js'
import { notifyOfWords, retOfWord } from '../base/notification.js'
import { checkOptionNames, type OptionNames } from '../base/options.js'
import type { Submission, SubmissionDsn } from '../engine/accept/submission.js'
import { isWaybillError, WaybillError } from '../errors.js'
import type { Queue } from '../queue.js'

export interface QueuedMessageInfo extends SentMessageInfo {
  /** Every recipient: a queue takes all of them or none. */
  accepted: string[]
  rejected: string[]
  /** `250 2.0.0 queued as <id>` */
  response: string
  /** Of the message that is in the queue. `''` for a duplicate, unless the caller gave its
   * `messageId`: nodemailer makes one for each call, and the message in the queue has another. */
  messageId: string
  /** The id in the queue, as for `waybill log history`. */
  queueId: string
  /** The `idempotencyKey` was used before, and this is that id. */
  isDuplicate?: true
}

/** What `submit` takes beside the message: `sendMail({ …, queue: { tags: ['news'] } })`. */
export type QueuedMessageOptions = Pick<
  Submission,
  | 'tags'
  | 'notBefore'
  | 'expiresAt'
  | 'warnAt'
  | 'priority'
  | 'hold'
  | 'idempotencyKey'
  | 'traceparent'
  | 'tracestate'
>

declare module 'nodemailer/lib/mailer' {
  interface Options {
    /** For a transport of Waybill. */
    queue?: QueuedMessageOptions
  }
}

const optionNames: OptionNames<QueuedMessageOptions> = {
  tags: true,
  notBefore: true,
  expiresAt: true,
  warnAt: true,
  priority: true,
  hold: true,
  idempotencyKey: true,
  traceparent: true,
  tracestate: true,
}

/** Messages under way beyond which `isIdle` is false: enough to fill a batch, few enough for
 * memory. None is refused for it. */
export const sendingCountMax = 1000

export type Sent = Parameters<Transport<QueuedMessageInfo>['send']>
type Dsn = NonNullable<Sent[0]['data']['dsn']>
export type Verified = (error: Error | null, success?: true) => void

/** @returns for `createTransport`. `signal` of a message aborts until it is appended. `dsn` is that
 * of nodemailer's SMTP transport (RFC 3461), and the queue honours it; Bcc is removed. Errors are
 * Waybill's, with `code`, and with nodemailer's `responseCode` and `response`. A file or a stream
 * of the message that cannot be read is DATA_INCOMPLETE, with its `cause`. */
export const queueTransport = (queue: SubmittedQueue): QueueTransport => new QueueTransport(queue)

export type SubmittedQueue = Pick<Queue, 'submit' | 'isCrashed'>

/** Emits `idle` at the beginning, and when there is room after there was none, as nodemailer's pool
 * does: for callers that hold messages back until then. */
export class QueueTransport extends EventEmitter implements Transport<QueuedMessageInfo> {
  readonly name = 'Waybill'
  /** Of the transport, for nodemailer's log. */
  readonly version = '1'
  readonly supportsAbortSignal = true
  readonly #queue: SubmittedQueue
  #sendingCount = 0

  constructor(queue: SubmittedQueue) {
    super()
    this.#queue = queue
    // Later, so that its creator can listen first.
    queueMicrotask(() => void (this.isIdle() && this.emit('idle')))
  }

  send(...[mail, done]: Sent): void {
    this.#sendingCount++
    this.#submit(mail).then(
      (info) => this.#settled(() => done(null, info)),
      (error: unknown) => this.#settled(() => done(withReply(error))),
    )
  }

  async #submit({ message, data }: Sent[0]): Promise<QueuedMessageInfo> {
    const envelope = message.getEnvelope()
    const messageId = message.messageId()
    const recipients = [...envelope.to]
    const { orcpt, ...dsn } = asked(data.dsn)
    const options = data.queue ?? {}
    checkOptionNames(options, optionNames, 'queue')
    const body = message.createReadStream()
    try {
      const { id, isDuplicate } = await this.#queue.submit({
        ...options,
        sender: envelope.from === false ? '' : envelope.from,
        recipients: orcpt === undefined ? recipients : recipients.map((address) => ({ address, orcpt })),
        dsn: data.dsn ? dsn : undefined,
        data: body,
        signal: data.signal,
      })
      const response = `250 2.0.0 queued as ${id}`
      const info = { envelope, messageId, accepted: recipients, rejected: [], response, queueId: id }
      if (isDuplicate !== true) return info
      return { ...info, messageId: isNamed(data) ? messageId : '', isDuplicate }
    } finally {
      // Files of the message.
      body.destroy()
    }
  }

  #settled(tell: () => void): void {
    const wasIdle = this.isIdle()
    this.#sendingCount--
    try {
      tell()
    } finally {
      if (!wasIdle && this.isIdle()) this.emit('idle')
    }
  }

  /** Can it take a message right away? Not when the queue has crashed, or a thousand are under
   * way. */
  isIdle(): boolean {
    return !this.#queue.isCrashed && this.#sendingCount < sendingCountMax
  }

  /** Resolves with true while the queue lives.
   * @throws WaybillError QUEUE_CRASHED, by rejection or to the callback */
  verify(callback: Verified): void
  verify(): Promise<true>
  verify(callback?: Verified): Promise<true> | void {
    const verified = this.#queue.isCrashed
      ? Promise.reject(withReply(new WaybillError('QUEUE_CRASHED', 'the queue has crashed')))
      : Promise.resolve(true as const)
    if (callback === undefined) return verified
    verified.then(
      () => callback(null, true),
      (error: Error) => callback(error),
    )
  }

  close(): void {
    this.emit('close')
  }
}

/** Did the caller give its Message-ID? nodemailer has made one by now, if not. */
function isNamed({ messageId, headers }: Sent[0]['data']): boolean {
  const given: unknown = headers ?? {}
  const names: unknown[] = Array.isArray(given)
    ? given.map((header: { readonly key?: unknown } | null) => header?.key)
    : Object.keys(given as object)
  return Boolean(messageId) || names.some((name) => String(name).toLowerCase() === 'message-id')
}

/** By nodemailer's names and forms; the queue reports invalid values of any type. */
function asked(dsn: Dsn | undefined): SubmissionDsn & { readonly orcpt?: string } {
  if (!dsn) return {}
  const id: unknown = dsn.envid || dsn.id || undefined
  const ret: unknown = lower(dsn.ret || dsn.return || undefined)
  const given: unknown = dsn.notify || undefined
  const words: unknown = typeof given === 'string' ? given.split(',') : given
  const notify: unknown = Array.isArray(words) ? notifyOfWords(words.map(lower)) : words
  const isEmpty = Array.isArray(notify) && notify.length === 0
  const orcpt: unknown = dsn.recipient || dsn.orcpt || undefined
  const isTyped = typeof orcpt !== 'string' || orcpt.includes(';')
  return {
    id: (typeof id === 'number' ? String(id) : id) as SubmissionDsn['id'],
    return: retOf(ret) as SubmissionDsn['return'],
    notify: (isEmpty ? undefined : notify) as SubmissionDsn['notify'],
    ...(orcpt === undefined ? {} : { orcpt: (isTyped ? orcpt : `rfc822;${orcpt}`) as string }),
  }
}

const lower = (word: unknown): unknown => (typeof word === 'string' ? word.trim().toLowerCase() : word)

/** nodemailer has `body`, and our words, beside those of SMTP. */
const retOf = (word: unknown): unknown =>
  typeof word !== 'string' ? word : word === 'body' ? 'full' : (retOfWord(word) ?? word)

/** The error itself, with the members of nodemailer's. */
function withReply(thrown: unknown): Error {
  if (!isWaybillError(thrown)) return isError(thrown) ? thrown : new Error(String(thrown))
  const { code, enhanced } = thrown.reply
  return Object.assign(thrown, { responseCode: code, response: `${code} ${enhanced} ${thrown.message}` })
}
