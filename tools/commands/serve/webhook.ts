/** `serve --webhook`: what becomes of messages, posted to a receiver of the operator's. */
import type { Logger } from 'pino'
import { isWaybillError, postOutcomes, type Queue, type WebhookOptions } from '../../../src/index.js'
import { checkWebhookOptions } from '../../../src/relay/webhook.js'
import type { QueueOutcomeKind } from '../../../src/record/outcome.js'
import { UsageError, type Arguments } from '../cli/command.js'
import { fileTextOf } from '../tables/relay-files.js'

/** Where outcomes are posted. The secrets are those of the file. */
export interface Asked extends Omit<WebhookOptions, 'signal' | 'onTrouble' | 'secret'> {
  readonly secret: readonly string[]
}

/** @returns undefined without --webhook @throws UsageError */
export async function webhookOf(args: Arguments): Promise<Asked | undefined> {
  const url = args.one('webhook')
  const path = args.one('webhook-secret')
  const events = args.one('webhook-events')
  const tags = args.all('webhook-tag')
  if (url === undefined) {
    if (path !== undefined || events !== undefined || tags.length > 0)
      throw new UsageError('--webhook-secret, --webhook-events and --webhook-tag are for --webhook')
    return undefined
  }
  if (path === undefined)
    throw new UsageError('--webhook needs --webhook-secret FILE: whsec_ and base64 of 24 to 64 bytes')
  const secret = (await fileTextOf('webhook-secret', path)).split('\n').flatMap((line) => line.trim() || [])
  // What a name is, is checked with the others.
  const kinds = events?.split(',').map((kind) => kind.trim()) as QueueOutcomeKind[] | undefined
  const options = {
    url,
    secret,
    ...(kinds === undefined ? undefined : { kinds }),
    ...(tags.length === 0 ? undefined : { tags }),
  }
  try {
    checkWebhookOptions(options)
  } catch (error) {
    if (!isWaybillError(error)) throw error
    const option = {
      url: 'webhook',
      secret: 'webhook-secret',
      kinds: 'webhook-events',
      tags: 'webhook-tag',
    }[String(error.place.option)]
    throw new UsageError(`--${option}: ${error.message.replace(/ \(option .*$/, '')}`)
  }
  return options
}

/** How the last request went, for those that ask. */
export interface WebhookState {
  /** Why it has failed; undefined: it has not. */
  trouble: string | undefined
}

const consumer = 'webhook'

/** Outcomes that the receiver has not taken. */
export function waitingCountOf(queue: Queue): number {
  const status = queue.consumers().find(({ name }) => name === consumer)
  return status === undefined ? 0 : status.last - status.cursor
}

/** Posts until the process ends, deliveries that end while it stops included.
 * @param secret those that sign the next request */
export function postToWebhook(
  queue: Queue,
  options: Asked,
  secret: () => readonly string[],
  state: WebhookState,
  log: Logger,
): void {
  const webhook = shownUrl(options.url)
  const posting = postOutcomes(queue, {
    ...options,
    consumer,
    secret,
    onTrouble: (trouble) => {
      state.trouble = trouble?.reason
      if (trouble === undefined) log.info({ webhook }, 'the webhook is answered again')
      else if (isTold(trouble.attempt))
        log.warn({ webhook, ...trouble }, 'the webhook is not answered; outcomes wait')
    },
  })
  posting.catch((error: unknown) => {
    if (isWaybillError(error, 'QUEUE_CRASHED')) return
    state.trouble = 'it is not called until the next start; the log says why'
    log.error({ err: error, webhook }, 'the webhook is not called until the next start')
  })
}

/** Without what may be secret, which the path of many receivers is: the log is read by others. */
const shownUrl = (url: string): string => new URL(url).origin

/** The first, and then ever fewer. */
const isTold = (attempt: number): boolean => Number.isInteger(Math.log2(attempt))
