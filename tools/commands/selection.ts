/** The options that choose among messages, the same for every listing. */
import type { MessageContent } from '../../src/inspect/message-content.js'
import {
  matchesEnvelope,
  matchesRecipients,
  type QueuedMessage,
  type Selection,
} from '../../src/inspect/queued-message.js'
import type { Arguments, Option } from './command.js'
import { UsageError } from './command.js'
import { parseDurationOption } from './values.js'

export const selectionOptions: Readonly<Record<string, Option>> = {
  lane: { value: 'LANE', help: 'incoming, active, deferred, hold, or the number of a lane' },
  nexthop: {
    value: 'DOMAIN',
    help: "the domain of a recipient; where it is routed only the queue's owner knows",
  },
  sender: { value: 'ADDRESS', help: 'exactly; `<>` is the null sender' },
  recipient: { value: 'ADDRESS', help: 'one that still waits' },
  'older-than': { value: 'TIME', help: 'accepted more than so long ago, 90m or 2d' },
}

/** @throws UsageError */
export function selectionOf(args: Arguments, nowMs: number): Selection {
  const older = args.one('older-than')
  const sender = args.one('sender')
  return {
    lane: laneOf(args.one('lane')),
    sender: sender === '<>' ? '' : sender,
    recipient: args.one('recipient'),
    domain: args.one('nexthop')?.toLowerCase(),
    acceptedUntil: older === undefined ? undefined : nowMs - parseDurationOption('older-than', older),
  }
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

/** @returns the addresses that wait, when the message is selected; undefined when it is not
 * @throws WaybillError LOG_CORRUPT */
export async function selected(
  message: QueuedMessage,
  selection: Selection,
  content: MessageContent,
): Promise<readonly string[] | undefined> {
  if (!matchesEnvelope(message, selection)) return undefined
  const addresses = addressesIn(message) ?? (await waitingAddresses(message, content))
  return matchesRecipients(addresses, selection) ? addresses : undefined
}

/** Without a wait, when they stand in the envelope itself. */
export function addressesIn({ envelope, waiting }: QueuedMessage): readonly string[] | undefined {
  if (envelope.recipientFrames.length > 0) return undefined
  return waiting === undefined
    ? envelope.recipients
    : waiting.map((index) => envelope.recipients[index] ?? '?')
}

export async function waitingAddresses(
  message: QueuedMessage,
  content: MessageContent,
): Promise<readonly string[]> {
  const all = await content.recipients(message, 0, message.envelope.recipientCount)
  return message.waiting === undefined ? all : message.waiting.map((index) => all[index] ?? '?')
}
