/** One entry of the history, and the keys by which it is found. Pure. */
import { checkOptionNames, isRecordText } from '../base/options.js'
import { WaybillError } from '../errors.js'
import type { QueueOutcome } from '../record/outcome.js'

/** An outcome; `messageId` stands with `accepted`. */
export type HistoryEntry = QueueOutcome

/** What a search is by: exactly one member. */
export interface HistorySelector {
  readonly id?: string
  /** The Message-ID of the header, with or without the angle brackets. */
  readonly messageId?: string
  /** A recipient that the entry names; case does not matter. */
  readonly recipient?: string
  readonly tag?: string
}

const selectorNames = { id: true, messageId: true, recipient: true, tag: true } as const

export interface HistoryQuery {
  /** As the filter of a file has it. */
  readonly key: string
  readonly matches: (entry: HistoryEntry) => boolean
}

const keyOfRecipient = (recipient: string): string => `recipient ${recipient.toLowerCase()}`

/** All that an entry is found by. */
export function* keysOf({ id, messageId, recipients, tags = [] }: HistoryEntry): Generator<string> {
  yield `id ${id}`
  if (messageId !== undefined) yield `message ${messageId}`
  for (const recipient of recipients) yield keyOfRecipient(recipient)
  for (const tag of tags) yield `tag ${tag}`
}

const valueBytesMax = 1024

/** @throws WaybillError OPTION_INVALID */
export function queryOf(selector: HistorySelector): HistoryQuery {
  checkOptionNames(selector, selectorNames)
  const [given, ...more] = Object.entries(selector).filter(([, value]) => value !== undefined)
  if (given === undefined || more.length > 0)
    throw new WaybillError(
      'OPTION_INVALID',
      'the history is searched by one of id, messageId, recipient, tag',
    )
  const [option, value] = given
  if (!isRecordText(value, valueBytesMax))
    throw new WaybillError('OPTION_INVALID', `expected a string of 1 to ${valueBytesMax} bytes`, { option })
  switch (option as keyof HistorySelector) {
    case 'id': {
      const id = value.toUpperCase()
      return { key: `id ${id}`, matches: (entry) => entry.id === id }
    }
    case 'messageId': {
      const messageId = value.startsWith('<') ? value : `<${value}>`
      return { key: `message ${messageId}`, matches: (entry) => entry.messageId === messageId }
    }
    case 'recipient': {
      const wanted = value.toLowerCase()
      return {
        key: keyOfRecipient(value),
        matches: ({ recipients }) => recipients.some((recipient) => recipient.toLowerCase() === wanted),
      }
    }
    case 'tag':
      return { key: `tag ${value}`, matches: ({ tags = [] }) => tags.includes(value) }
  }
}
