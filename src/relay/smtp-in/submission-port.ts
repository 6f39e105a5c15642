/** Submissions from another thread: both ends of a message port, one before a queue, the other
 * standing for it.
 * Invariant: a submission settles in the other thread when it has settled in the queue, with the
 * same answer. Whole messages go in batches, all that came in one turn of the event loop. A stream
 * goes piece by piece, each when the queue asks for it, so that what the queue holds back is held
 * back at the client.
 *
 *     thread                                   queue
 *       │ submissions: n, n+1 …                  │
 *       │ ─────────────────────────────────────▶ │ submit, submit …
 *       │ ◀───────────────────────────────────── │ answers: n …
 *       │ begin n ─▶  ◀─ more n  piece n ─▶  ◀─ more n  end n ─▶ │ */
import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers'
import { isError } from '../../base/realms.js'
import { isWaybillError, WaybillError, type ErrorCode } from '../../errors.js'
import type { Trace } from './received.js'
import { piecesHeldBy } from './smtp-data.js'
import type { Client, SubmitPort } from './smtp-handlers.js'

/** An error, as far as it can be told to another thread. */
export interface PortError {
  readonly isOurs: boolean
  readonly message: string
  readonly stack: string
  /** Its words and numbers: code, address, port. */
  readonly facts: Readonly<Record<string, string | number>>
}

type Submitted = Parameters<SubmitPort['submit']>[0]

interface Head {
  readonly number: number
  readonly sender: string
  readonly recipients: Submitted['recipients']
  readonly smtputf8: boolean
  readonly longLines: boolean
  readonly id: string
  readonly dsn: Submitted['dsn']
  readonly client: Client
  readonly trace: Trace
}

interface Whole extends Head {
  readonly bytes: ArrayBuffer
}

export type ToQueue =
  | { readonly kind: 'submissions'; readonly submissions: readonly Whole[] }
  | ({ readonly kind: 'begin' } & Head)
  | { readonly kind: 'piece'; readonly number: number; readonly bytes: ArrayBuffer }
  | { readonly kind: 'end'; readonly number: number; readonly error: PortError | undefined }
  | { readonly kind: 'etrn'; readonly domain: string; readonly client: Client }

interface Answer {
  readonly number: number
  readonly result: { readonly id: string } | PortError
}

export type FromQueue =
  | { readonly kind: 'answers'; readonly answers: readonly Answer[] }
  | { readonly kind: 'more'; readonly number: number }

/** As much of a port as both ends use. */
export interface Port<In, Out> {
  on(event: 'message', listener: (message: In) => void): unknown
  postMessage(message: Out, handedOver?: readonly ArrayBuffer[]): void
}

export function portError(thrown: unknown): PortError {
  const error = isError(thrown) ? thrown : new Error(String(thrown))
  const facts = Object.entries(error).filter(([, value]) => ['string', 'number'].includes(typeof value))
  return {
    isOurs: isWaybillError(error),
    message: error.message,
    stack: error.stack ?? '',
    facts: Object.fromEntries(facts) as Record<string, string | number>,
  }
}

export function errorOf({ isOurs, message, stack, facts }: PortError): Error {
  const error = isOurs ? new WaybillError(facts['code'] as ErrorCode, message) : new Error(message)
  return Object.assign(error, facts, { stack })
}

/** Answers for the queue. */
export function answerSubmissions(
  port: Port<ToQueue, FromQueue>,
  queue: Pick<SubmitPort, 'submit' | 'startQueue'>,
): void {
  const bodies = new Map<number, Readable>()
  let answers: Answer[] = []
  const answer = (number: number, result: Answer['result']): void => {
    bodies.delete(number)
    if (answers.push({ number, result }) > 1) return
    setImmediate(() => {
      port.postMessage({ kind: 'answers', answers })
      answers = []
    })
  }
  const submit = (number: number, submission: Submitted, client: Client, trace: Trace): void => {
    queue.submit(submission, client, trace).then(
      ({ id }) => answer(number, { id }),
      (error: unknown) => answer(number, portError(error)),
    )
  }
  port.on('message', (message: ToQueue) => {
    // What else the thread says on this port is not for us.
    switch (message.kind) {
      case 'submissions':
        for (const { number, bytes, client, trace, ...head } of message.submissions)
          submit(number, { data: Buffer.from(bytes), ...head }, client, trace)
        return
      case 'begin': {
        const { kind: _kind, number, client, trace, ...head } = message
        const body = new Readable({ read: () => port.postMessage({ kind: 'more', number }) })
        // The stream's error reaches the queue; until it listens, a client that vanishes must not
        // end the process.
        body.on('error', () => {})
        bodies.set(number, body)
        submit(number, { data: body, ...head }, client, trace)
        return
      }
      case 'etrn':
        queue.startQueue?.(message.domain, message.client)
        return
      case 'piece':
        bodies.get(message.number)?.push(Buffer.from(message.bytes))
        return
      case 'end':
        if (message.error === undefined) bodies.get(message.number)?.push(null)
        else bodies.get(message.number)?.destroy(errorOf(message.error))
    }
  })
}

interface Waiting {
  readonly resolve: (accepted: { id: string }) => void
  readonly reject: (error: Error) => void
  /** The queue wants another piece. */
  wanted: number
  /** Called when it does. */
  look: (() => void) | undefined
}

/** A buffer of these bytes and no others: a view would take with it all that its buffer holds. */
const ownBytes = (bytes: Buffer): ArrayBuffer =>
  bytes.length === bytes.buffer.byteLength
    ? (bytes.buffer as ArrayBuffer)
    : (bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer)

/** Stands for the queue. */
export function queueBehind(port: Port<FromQueue, ToQueue>, limits: SubmitPort['limits']): SubmitPort {
  const waiting = new Map<number, Waiting>()
  let staged: Whole[] = []
  let next = 0
  const flush = (): void => {
    port.postMessage({ kind: 'submissions', submissions: staged })
    staged = []
  }
  /** Resolves with whether the queue still wants it. */
  const wanted = async (number: number): Promise<boolean> => {
    for (let entry = waiting.get(number); entry !== undefined; entry = waiting.get(number)) {
      if (entry.wanted > 0) {
        entry.wanted--
        return true
      }
      await new Promise<void>((look) => (entry!.look = look))
    }
    return false
  }
  const sendStream = async (number: number, data: Readable): Promise<void> => {
    let failure: PortError | undefined
    try {
      for await (const piece of data as AsyncIterable<Buffer>) {
        if (!(await wanted(number))) return
        // What has come meanwhile goes with it. The copy is ours, and is handed over.
        const bytes = ownBytes(Buffer.concat([piece, ...piecesHeldBy(data)]))
        port.postMessage({ kind: 'piece', number, bytes }, [bytes])
      }
    } catch (error) {
      failure = portError(error)
    }
    if (waiting.has(number)) port.postMessage({ kind: 'end', number, error: failure })
  }
  port.on('message', (message: FromQueue) => {
    if (message.kind === 'more') {
      const entry = waiting.get(message.number)
      if (entry === undefined) return
      entry.wanted++
      entry.look?.()
      return
    }
    // Other messages on this port are not for us.
    if (message.kind !== 'answers') return
    for (const { number, result } of message.answers) {
      const entry = waiting.get(number)!
      waiting.delete(number)
      if ('id' in result) entry.resolve(result)
      else entry.reject(errorOf(result))
      entry.look?.()
    }
  })
  return {
    limits,
    startQueue: (domain, client) => port.postMessage({ kind: 'etrn', domain, client }),
    submit: ({ data, ...rest }, client, trace) => {
      const head: Head = { number: next++, ...rest, client, trace }
      return new Promise((resolve, reject) => {
        waiting.set(head.number, { resolve, reject, wanted: 0, look: undefined })
        if (!Buffer.isBuffer(data)) {
          port.postMessage({ kind: 'begin', ...head })
          void sendStream(head.number, data)
        } else if (staged.push({ bytes: ownBytes(data), ...head }) === 1) setImmediate(flush)
      })
    },
  }
}
