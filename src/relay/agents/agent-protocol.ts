/** The requests to an agent and its reports, as text (PROTOCOL.md). Pure.
 * Invariant: the head of a request has one line for each fact, whatever is in an address or a
 * nexthop. A line that is no report reads as undefined, and its agent gets no more work. */
import type { DeliveryRequest, Outcome } from '../../delivery/transport.js'

const protocolVersion = 1

/** A line of an agent, UTF-16 units. */
export const lineLengthMax = 4096

export interface RequestHead extends Pick<
  DeliveryRequest,
  'id' | 'attempts' | 'sender' | 'nexthop' | 'acceptedAt' | 'recipients'
> {
  readonly channel: string
  /** Octets that follow, or the reference to data that is kept elsewhere. */
  readonly data: { readonly bytes: number } | { readonly ref: string }
  /** The number of the first recipient; the others follow. */
  readonly firstTag: number
}

/** @returns undefined when a value has a line end: no agent could read it */
export function requestHead(head: RequestHead): string | undefined {
  const { id, attempts, sender, channel, nexthop, acceptedAt, data, recipients, firstTag } = head
  const values: readonly (readonly [string, string | number])[] = [
    ['waybill', protocolVersion],
    ['message', id],
    ['attempt', attempts + 1],
    ['sender', sender],
    ['channel', channel],
    ['host', nexthop],
    ['accepted', acceptedAt],
    'ref' in data ? ['reference', data.ref] : ['size', data.bytes],
    ...recipients.map((recipient, i) => ['to', `${firstTag + i} ${recipient}`] as const),
  ]
  if (values.some(([, value]) => /[\r\n\0]/.test(String(value)))) return undefined
  return `${values.map(([name, value]) => `${name} ${value}\n`).join('')}\n`
}

export interface AgentReport {
  /** That of the recipient. */
  readonly tag: number
  readonly outcome: Outcome
}

const classOf = { delivered: '2', deferred: '4', failed: '5' } as const
const reportForm = /^(\d{1,15}) (delivered|deferred|failed)(?: (\d\.\d{1,3}\.\d{1,3})(?= |$))?(?: (.*))?$/

export const isComment = (line: string): boolean => line === '' || line.startsWith('#')

/** @returns undefined when the line is no report */
export function readReport(line: string): AgentReport | undefined {
  const [, tag, kind, status, text = ''] = reportForm.exec(line) ?? []
  if (kind === undefined) return undefined
  const word = kind as keyof typeof classOf
  if (status !== undefined && status[0] !== classOf[word]) return undefined
  const response = [status, text].filter((part) => part !== undefined && part !== '').join(' ')
  if (word === 'delivered') return { tag: Number(tag), outcome: { kind: word, response } }
  const reason = text === '' ? `the agent says no more than ${word}` : text
  return { tag: Number(tag), outcome: { kind: word, status: status ?? `${classOf[word]}.0.0`, reason } }
}
