/** `serve --webhook`: what becomes of messages, posted to a receiver of the operator's. */
import type { Logger } from 'pino'
import { isWaybillError, postOutcomes, type Queue, type WebhookOptions } from '../../../src/index.js'
import { checkWebhookOptions } from '../../../src/relay/webhook.js'
import type { QueueOutcomeKind } from '../../../src/record/outcome.js'
import { UsageError, type Arguments } from '../cli/command.js'
import { fileTextOf } from './secrets.js'

type Asked = Omit<WebhookOptions, 'signal' | 'onTrouble'>

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
  const secret = (await fileTextOf('webhook-secret', path)).trim()
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

/** Posts until the process ends, deliveries that end while it stops included. */
export function postToWebhook(queue: Queue, options: Asked, log: Logger): void {
  const posting = postOutcomes(queue, {
    ...options,
    onTrouble: (trouble) => {
      if (trouble === undefined) log.info({ webhook: options.url }, 'the webhook is answered again')
      else if (isTold(trouble.attempt))
        log.warn({ webhook: options.url, ...trouble }, 'the webhook is not answered; outcomes wait')
    },
  })
  posting.catch((error: unknown) => {
    if (!isWaybillError(error, 'QUEUE_CRASHED'))
      log.error({ err: error, webhook: options.url }, 'the webhook is not called until the next start')
  })
}

/** The first, and then ever fewer. */
const isTold = (attempt: number): boolean => Number.isInteger(Math.log2(attempt))
