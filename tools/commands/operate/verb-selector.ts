/** The options that select messages, the same for all verbs. */
import { isMessageId } from '../../../src/base/message-id.js'
import type { Selector } from '../../../src/index.js'
import { UsageError, type Arguments, type Option } from '../cli/command.js'
import { laneOf, senderOf, textOf } from '../look/listing-options.js'
import { parseDurationOption } from '../cli/values.js'

export const selectorOptions: Readonly<Record<string, Option>> = {
  id: { value: 'ID', many: true, help: 'this message; may be repeated, and `--id` may be left out' },
  sender: { value: 'ADDRESS', help: 'exactly; `<>` is the null sender' },
  recipient: { value: 'ADDRESS', help: 'one that still waits' },
  domain: { value: 'DOMAIN', help: 'of one that still waits' },
  nexthop: {
    value: 'NEXTHOP',
    help: 'where one of the recipients goes, as `destinations` names it; without a relay, the domain of one',
  },
  lane: { value: 'LANE', help: 'incoming, active, deferred, hold, or the number of a lane' },
  'older-than': { value: 'TIME', help: 'accepted more than so long ago, 90m or 2d' },
  'last-status': { value: 'STATUS', help: 'why it waits: 4.4 or 4.4.1' },
  tag: { value: 'TAG', help: 'one of those that it was submitted with' },
  all: { help: 'every message' },
}

export const selectorSynopsis = 'ID … | SELECTOR … | --all'

/** Selectors that follow one another: one for each id, or one for all.
 * @throws UsageError, also without any condition: no verb acts on everything by accident */
export function selectorsOf(args: Arguments): readonly Selector[] {
  const ids = [...new Set([...args.all('id'), ...args.rest].map(idOf))]
  const olderThan = args.one('older-than')
  const lastStatus = args.one('last-status')
  if (lastStatus !== undefined && !/^[245](\.\d{1,3}){0,2}$/.test(lastStatus))
    throw new UsageError(`--last-status takes a status like 4.4 or 4.4.1, not '${lastStatus}'`)
  const selector: Selector = {
    ...given('sender', senderOf(args)),
    ...given('recipient', textOf(args, 'recipient')),
    ...given('domain', textOf(args, 'domain')),
    ...given('nexthop', textOf(args, 'nexthop')),
    ...given('lane', laneOf(args.one('lane'))),
    ...given('olderThan', olderThan === undefined ? undefined : parseDurationOption('older-than', olderThan)),
    ...given('lastStatus', lastStatus),
    ...given('tag', textOf(args, 'tag')),
  }
  const isNarrowed = Object.keys(selector).length > 0
  if (args.isSet('all')) {
    if (isNarrowed || ids.length > 0) throw new UsageError('--all, or something narrower, not both')
    return [{ all: true }]
  }
  if (ids.length > 0) return ids.map((id) => ({ ...selector, id }))
  if (!isNarrowed) throw new UsageError('no message is selected; --all selects every one')
  return [selector]
}

function given<K extends string, T>(name: K, value: T | undefined): Partial<Record<K, T>> {
  return value === undefined ? {} : ({ [name]: value } as Record<K, T>)
}

/** @throws UsageError */
function idOf(text: string): string {
  const id = text.toUpperCase()
  if (!isMessageId(id)) throw new UsageError(`'${text}' is no message id`)
  return id
}
