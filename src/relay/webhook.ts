/** Posts outcomes to an HTTP receiver, in batches signed as Standard Webhooks specifies.
 * Invariant: a batch is posted again until the receiver answers 2xx, and the next one comes behind
 * it. The queue keeps what waits, so a receiver that is down, slow or wrong delays no mail.
 * @see https://github.com/standard-webhooks/standard-webhooks */
import { createHmac } from 'node:crypto'
import { clearTimeout, setImmediate, setTimeout } from 'node:timers'
import { setTimeout as sleep } from 'node:timers/promises'
import { isError, thrownText } from '../base/realms.js'
import { checkOptionNames, integerOption, waitMsMax } from '../base/options.js'
import { WaybillError } from '../errors.js'
import { callOptionListener } from '../engine/life/option-listener.js'
import { isTag } from '../engine/accept/submission-terms.js'
import type { OutcomeBatchesRequest, OutcomeGap } from '../engine/outcomes/consume.js'
import { outcomeKinds, type QueueOutcome, type QueueOutcomeKind } from '../record/outcome.js'

export interface WebhookOptions {
  /** http or https. `USER:PASSWORD@` in it becomes the header `Authorization: Basic`. */
  readonly url: string
  /** `whsec_` and base64 of 24 … 64 bytes, shared with the receiver. Several, 1 … 4: a request has
   * a signature by each, while the receiver changes from one to the next. A function is called at
   * the start and for each request. */
  readonly secret: string | readonly string[] | (() => string | readonly string[])
  /** Kinds of outcomes that are posted. Default: all. Gaps always are. */
  readonly kinds?: readonly QueueOutcomeKind[] | undefined
  /** Outcomes of messages with one of these tags. Default: of all messages. */
  readonly tags?: readonly string[] | undefined
  /** The consumer's name; a second webhook has another. Default `webhook`. */
  readonly consumer?: string | undefined
  /** Outcomes of one request at the most, 1 … 1000. Default 100. */
  readonly batchMax?: number | undefined
  /** How long an answer is waited for, milliseconds, 1 … 300 000. Default 15 000. */
  readonly timeoutMs?: number | undefined
  /** Wait before the first repetition, milliseconds, 1 … 86 400 000; it doubles up to five minutes.
   * Default 1000. */
  readonly retryMs?: number | undefined
  /** Ends it; a request under way is cut off and made again by the next life. */
  readonly signal?: AbortSignal | undefined
  /** A request has failed, or the first has succeeded behind one that had. */
  readonly onTrouble?: ((trouble: WebhookTrouble | undefined) => void) | undefined
}

export interface WebhookTrouble {
  /** HTTP status; undefined: there was no answer. */
  readonly status: number | undefined
  readonly reason: string
  /** Until the next request, milliseconds. */
  readonly waitMs: number
  /** Requests with this batch so far. */
  readonly attempt: number
}

/** As much of a queue as this needs. */
export interface OutcomeSource {
  /** This life is over: nothing more is posted. */
  readonly isCrashed?: boolean
  outcomeBatches(request: OutcomeBatchesRequest): AsyncGenerator<readonly (QueueOutcome | OutcomeGap)[], void>
}

/** The body of a request. */
export interface WebhookBody {
  readonly type: 'outcomes'
  /** The time of the newest outcome, ISO 8601. */
  readonly timestamp: string
  readonly data: readonly (QueueOutcome | OutcomeGap)[]
}

const retryMsMax = 300_000
/** `fetch` itself waits no longer for an answer. */
const timeoutMsMax = 300_000
const secretPattern = /^whsec_([A-Za-z0-9+/]+={0,2})$/

/** Posts until the signal is aborted, or this life of the queue is over.
 * @throws WaybillError by rejection: OPTION_INVALID; QUEUE_CRASHED at the end of the life */
export async function postOutcomes(queue: OutcomeSource, options: WebhookOptions): Promise<void> {
  const terms = checked(options)
  const { kinds, tags, batchMax } = terms
  const { consumer = 'webhook', signal } = options
  const posting = new Posting(queue, terms, consumer, options)
  const request = { consumer, max: batchMax, ...(signal === undefined ? undefined : { signal }) }
  for await (const batch of queue.outcomeBatches(request)) {
    const data = batch.filter((item) => item.kind === 'gap' || (kinds.has(item.kind) && isTagged(item, tags)))
    if (!(await posting.post(data))) return
  }
}

/** The end of the queue's life is looked at so often while a receiver is waited for. */
const lookMs = 1000

type Items = WebhookBody['data']
type Answer = 'taken' | 'too large' | 'aborted' | 'over'

/** Requests to one receiver. */
class Posting {
  readonly #queue: Pick<OutcomeSource, 'isCrashed'>
  readonly #terms: ReturnType<typeof checked>
  readonly #consumer: string
  readonly #options: WebhookOptions
  /** Items of a request. A receiver that says 413 halves it, one that takes a request adds one. */
  #countMax: number
  #isTroubled = false

  constructor(
    queue: Pick<OutcomeSource, 'isCrashed'>,
    terms: ReturnType<typeof checked>,
    consumer: string,
    options: WebhookOptions,
  ) {
    this.#queue = queue
    this.#terms = terms
    this.#consumer = consumer
    this.#options = options
    this.#countMax = terms.batchMax
  }

  /** @returns false when the signal has aborted */
  async post(items: Items): Promise<boolean> {
    for (let at = 0; at < items.length;) {
      const part = items.slice(at, at + this.#countMax)
      const answer = await this.#untilAnswered(part)
      if (answer === 'aborted') return false
      // The next batch is refused.
      if (answer === 'over') return true
      if (answer === 'taken') at += part.length
      this.#countMax =
        answer === 'taken' ? Math.min(this.#countMax + 1, this.#terms.batchMax) : Math.ceil(part.length / 2)
    }
    return true
  }

  async #untilAnswered(items: Items): Promise<Answer> {
    const { signal } = this.#options
    let message = messageOf(items, this.#consumer)
    let shorter = items.length === 1 ? withoutRecipients(items[0]!) : undefined
    for (let attempt = 1, waitMs = this.#terms.retryMs; ; attempt++) {
      const trouble = await post(this.#terms, message, signal)
      if (isAborted(signal)) return 'aborted'
      if (trouble === undefined) {
        if (this.#isTroubled) this.#tell(undefined)
        return 'taken'
      }
      if (trouble.status === tooLarge && items.length > 1) return 'too large'
      if (trouble.status === tooLarge && shorter !== undefined) {
        message = messageOf([shorter], this.#consumer)
        shorter = undefined
        continue
      }
      const ownMs = Math.round(waitMs * (0.75 + Math.random() / 2))
      const nextMs = Math.max(ownMs, trouble.waitMs)
      waitMs = Math.min(2 * waitMs, retryMsMax)
      this.#tell({ ...trouble, waitMs: nextMs, attempt })
      await this.#wait(nextMs)
      if (isAborted(signal)) return 'aborted'
      if (this.#queue.isCrashed === true) return 'over'
    }
  }

  /** An hour that a receiver asks for keeps no process alive behind the end of its queue. */
  async #wait(ms: number): Promise<void> {
    const { signal } = this.#options
    for (let leftMs = ms; leftMs > 0; leftMs -= lookMs) {
      await sleep(Math.min(leftMs, lookMs), undefined, { signal }).catch(ignoreAbort)
      if (isAborted(signal) || this.#queue.isCrashed === true) return
    }
  }

  #tell(trouble: WebhookTrouble | undefined): void {
    this.#isTroubled = trouble !== undefined
    callOptionListener('onTrouble', () => this.#options.onTrouble?.(trouble))
  }
}

const isAborted = (signal: AbortSignal | undefined): boolean => signal?.aborted === true

/** HTTP status: the request is larger than the receiver takes. */
const tooLarge = 413

/** As the queue keeps one whose recipients are too many. @returns undefined: it has none */
const withoutRecipients = (item: QueueOutcome | OutcomeGap): QueueOutcome | undefined =>
  item.kind === 'gap' || item.recipients.length === 0 ? undefined : { ...item, recipients: [] }

/** @throws WaybillError OPTION_INVALID */
export function checkWebhookOptions(options: WebhookOptions): void {
  checked(options)
}

function checked(options: WebhookOptions) {
  checkOptionNames(
    options,
    {
      url: true,
      secret: true,
      kinds: true,
      tags: true,
      consumer: true,
      batchMax: true,
      timeoutMs: true,
      retryMs: true,
      signal: true,
      onTrouble: true,
    },
    'webhook',
  )
  if (!URL.canParse(options.url) || !/^https?:$/.test(new URL(options.url).protocol))
    throw new WaybillError('OPTION_INVALID', 'a webhook has an http or https address', { option: 'url' })
  const { url, authorization } = withoutLogin(new URL(options.url))
  for (const kind of options.kinds ?? [])
    if (!outcomeKinds.includes(kind))
      throw new WaybillError('OPTION_INVALID', `'${String(kind)}' is none of ${outcomeKinds.join(', ')}`, {
        option: 'kinds',
      })
  for (const tag of options.tags ?? [])
    if (!isTag(tag))
      throw new WaybillError('OPTION_INVALID', `'${String(tag)}' is no tag`, { option: 'tags' })
  const { secret } = options
  const keys = keysOf(typeof secret === 'function' ? secret() : secret)
  return {
    keysNow: typeof secret === 'function' ? () => keysOf(secret()) : () => keys,
    url,
    authorization,
    kinds: new Set(options.kinds ?? outcomeKinds),
    tags: options.tags === undefined ? undefined : new Set(options.tags),
    batchMax: integerOption('batchMax', options.batchMax ?? 100, 1, 1000),
    timeoutMs: integerOption('timeoutMs', options.timeoutMs ?? 15_000, 1, timeoutMsMax),
    retryMs: integerOption('retryMs', options.retryMs ?? 1000, 1, waitMsMax),
  }
}

const secretsMax = 4

/** @throws WaybillError OPTION_INVALID */
function keysOf(secret: string | readonly string[]): Buffer[] {
  const secrets = Array.isArray(secret) ? (secret as readonly unknown[]) : [secret]
  const keys = secrets.map((one) => Buffer.from(secretPattern.exec(String(one))?.[1] ?? '', 'base64'))
  if (
    keys.length >= 1 &&
    keys.length <= secretsMax &&
    keys.every(({ length }) => length >= 24 && length <= 64)
  )
    return keys
  throw new WaybillError(
    'OPTION_INVALID',
    `a secret is whsec_ and base64 of 24 to 64 bytes; there are at most ${secretsMax}`,
    { option: 'secret' },
  )
}

/** Fetch refuses an address with a login. @throws WaybillError OPTION_INVALID */
function withoutLogin(url: URL): { readonly url: string; readonly authorization: string | undefined } {
  const { username, password } = url
  if (username === '' && password === '') return { url: url.href, authorization: undefined }
  const login = `${decoded(username)}:${decoded(password)}`
  url.username = ''
  url.password = ''
  return { url: url.href, authorization: `Basic ${Buffer.from(login).toString('base64')}` }
}

function decoded(word: string): string {
  try {
    return decodeURIComponent(word)
  } catch (error) {
    throw new WaybillError(
      'OPTION_INVALID',
      'the login in the address has a % that begins no octet',
      {
        option: 'url',
      },
      error,
    )
  }
}

/** @param tags undefined: whatever it has */
const isTagged = ({ tags: has = [] }: QueueOutcome, tags: ReadonlySet<string> | undefined): boolean =>
  tags === undefined || has.some((tag) => tags.has(tag))

interface Message {
  /** Of the outcomes in it, so that one that is composed anew after a crash, of more of them, is
   * another message to a receiver that remembers ids. */
  readonly id: string
  readonly body: string
}

function messageOf(data: WebhookBody['data'], consumer: string): Message {
  const [first, last] = [data[0]!, data.at(-1)!]
  const newest = data.reduce((at, item) => (item.kind === 'gap' ? at : Math.max(at, item.at)), 0)
  const timestamp = new Date(newest === 0 ? Date.now() : newest).toISOString()
  const from = first.kind === 'gap' ? first.from : first.number
  const to = last.kind === 'gap' ? last.to : last.number
  return { id: `${consumer}_${from}-${to}`, body: JSON.stringify({ type: 'outcomes', timestamp, data }) }
}

type Receiver = Pick<ReturnType<typeof checked>, 'url' | 'authorization' | 'timeoutMs'> & {
  /** @throws what the option `secret` throws */
  readonly keysNow: () => readonly Buffer[]
}

/** @returns undefined when it was answered 2xx */
async function post(
  { url, keysNow, authorization, timeoutMs }: Receiver,
  { id, body }: Message,
  signal: AbortSignal | undefined,
): Promise<Omit<WebhookTrouble, 'attempt'> | undefined> {
  const timestamp = Math.floor(Date.now() / 1000)
  const signed = `${id}.${timestamp}.${body}`
  const signedBy = (key: Buffer): string => `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
  const { signal: timeout, end } = timeoutOf(timeoutMs)
  try {
    const signatures = keysNow().map(signedBy)
    const response = await fetch(url, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': String(timestamp),
        'webhook-signature': signatures.join(' '),
        ...(authorization === undefined ? undefined : { authorization }),
      },
      body,
      signal: signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
    })
    end()
    await leaveBody(response)
    const { status } = response
    if (response.ok) return undefined
    const asked = response.headers.get('retry-after')
    return { status, reason: `the receiver answered ${status}`, waitMs: retryAfterMs(asked, Date.now()) }
  } catch (error) {
    const reason = timeout.aborted ? `no answer within ${timeoutMs} ms` : reasonOf(error)
    return { status: undefined, reason, waitMs: 0 }
  } finally {
    end()
  }
}

const answerBytesMax = 64 * 1024
/** The body may come behind its header, and a receiver may never end it. */
const bodyMs = 250

/** A body that is read to its end leaves the connection to the next request. */
async function leaveBody({ body }: Response): Promise<void> {
  if (body === null) return
  const reader = body.getReader()
  const cancel = (): void => void reader.cancel().catch(() => undefined)
  // What has come while this thread was busy is read before.
  const timer = setTimeout(() => setImmediate(cancel), bodyMs)
  try {
    for (let byteCount = 0; byteCount <= answerBytesMax;) {
      const { done, value } = await reader.read()
      if (done) return
      byteCount += value.length
    }
    cancel()
  } catch {
    // The answer has come: its status counts, also when the receiver closes within the body.
  } finally {
    clearTimeout(timer)
  }
}

const retryAfterMsMax = 3_600_000

/** The wait that an answer asks for. @param text of the header: seconds, or a date (RFC 9110) */
export function retryAfterMs(text: string | null, nowMs: number): number {
  const asked = /^\d{1,9}$/.test(text ?? '') ? Number(text) * 1000 : Date.parse(text ?? '') - nowMs
  return Number.isNaN(asked) ? 0 : Math.min(Math.max(asked, 0), retryAfterMsMax)
}

/** Aborts behind one more look at the network: timers run before it, and an answer that came while
 * the program computed counts. */
function timeoutOf(timeoutMs: number): { readonly signal: AbortSignal; readonly end: () => void } {
  const controller = new AbortController()
  let isOver = false
  const look = (): void => {
    if (!isOver) controller.abort()
  }
  const timer = setTimeout(() => setImmediate(look), timeoutMs)
  const end = (): void => {
    isOver = true
    clearTimeout(timer)
  }
  return { signal: controller.signal, end }
}

/** Fetch says what went wrong in its cause. */
function reasonOf(error: unknown): string {
  const cause = isError(error) && isError(error.cause) ? error.cause : error
  return thrownText(cause)
}

function ignoreAbort(error: unknown): void {
  if (!isError(error) || error.name !== 'AbortError') throw error
}
