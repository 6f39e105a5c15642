/** The options that select messages, the same for every listing; queued-message.ts of
 * src/inspect selects. */
import { listedTerms } from '../../../src/admin/select/listed-message.js'
import { comparableDomain } from '../../../src/base/mail-address.js'
import type { RequestDsn } from '../../../src/delivery/transport.js'
import type { QueuedMessage, Selection } from '../../../src/inspect/messages/queued-message.js'
import type { Arguments, Option } from '../cli/command.js'
import { UsageError } from '../cli/command.js'
import { parseCount, parseDurationOption } from '../cli/values.js'

export const selectionOptions: Readonly<Record<string, Option>> = {
  lane: { value: 'LANE', help: 'incoming, active, deferred, hold, or the number of a lane' },
  domain: { value: 'DOMAIN', help: 'of a recipient that still waits' },
  sender: { value: 'ADDRESS', help: 'exactly; `<>` is the null sender' },
  recipient: { value: 'ADDRESS', help: 'one that still waits' },
  'older-than': { value: 'TIME', help: 'accepted more than so long ago, 90m or 2d' },
  tag: { value: 'TAG', help: 'one of those that it was submitted with' },
}

/** @throws UsageError */
export function selectionOf(args: Arguments, nowMs: number): Selection {
  const older = args.one('older-than')
  const domain = textOf(args, 'domain')
  return {
    lane: laneOf(args.one('lane')),
    sender: senderOf(args),
    recipient: textOf(args, 'recipient'),
    domain: domain === undefined ? undefined : comparableDomain(domain),
    tag: textOf(args, 'tag'),
    acceptedUntil: older === undefined ? undefined : nowMs - parseDurationOption('older-than', older),
  }
}

/** What a call of `mailq` asks for. */
export interface Wishes {
  readonly selection: Selection
  readonly limit: number
  readonly json: boolean
}

/** @throws UsageError */
export function wishesOf(args: Arguments, nowMs: number): Wishes {
  const limit = args.isSet('limit') ? parseCount('limit', args.one('limit') ?? '', 1) : Infinity
  return { selection: selectionOf(args, nowMs), limit, json: args.isSet('json') }
}

/** An empty value is an unset variable of a script.
 * @throws UsageError */
export function textOf(args: Arguments, option: string): string | undefined {
  const text = args.one(option)
  if (text === '') throw new UsageError(`--${option} has an empty value`)
  return text
}

/** '' is the null sender. @throws UsageError */
export function senderOf(args: Arguments): string | undefined {
  const text = textOf(args, 'sender')
  return text === '<>' ? '' : text
}

/** @throws UsageError */
export function laneOf(text: string | undefined): Selection['lane'] {
  switch (text) {
    case undefined:
    case 'incoming':
    case 'active':
    case 'deferred':
    case 'hold':
      return text
    default:
      if (/^\d{1,5}$/.test(text)) return Number(text)
      throw new UsageError(`'${text}' is no lane: incoming, active, deferred, hold, or a number`)
  }
}

/** What the submission asked of the queue, and when it acts next, as members of a JSON listing. */
export function jsonHandling(
  {
    envelope,
    lane,
    dueAt,
  }: Pick<QueuedMessage, 'lane' | 'dueAt'> & {
    readonly envelope: Pick<QueuedMessage['envelope'], 'attempts' | 'terms'>
  },
  dsn: RequestDsn | undefined,
): Record<string, unknown> {
  const { terms } = envelope
  const { tags, notBefore, expiresAt } = terms === undefined ? {} : listedTerms(terms)
  return {
    ret: dsn?.ret,
    envid: dsn?.envid,
    lane,
    attempts: envelope.attempts,
    due_time: dueAt === Infinity ? null : Math.floor(dueAt / 1000),
    tags,
    not_before: notBefore === undefined ? undefined : Math.floor(notBefore / 1000),
    expires_at: expiresAt === undefined ? undefined : Math.floor(expiresAt / 1000),
  }
}
