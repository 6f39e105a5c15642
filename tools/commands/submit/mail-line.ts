/** A line of JSON as a submission: the message as the HTTP API has it, and options of `submit`. */
import { thrownText } from '../../../src/base/realms.js'
import { UsageError } from '../cli/command.js'
import { WaybillError } from '../../../src/errors.js'
import { composed, mailSchema, type MailParts } from '../../../src/http/api/composed-mail.js'

/** Ready to be sent to a relay: times are milliseconds since 1970. */
export interface LineSubmission {
  readonly sender: string
  readonly recipients: readonly string[]
  readonly data: Buffer
  readonly idempotencyKey?: string | undefined
  readonly [option: string]: unknown
}

const times = ['notBefore', 'expiresAt', 'warnAt'] as const
const handling = ['tags', ...times, 'priority', 'hold', 'idempotencyKey', 'longLines', 'smtputf8'] as const
const options: readonly string[] = [...handling, 'traceparent', 'tracestate']
const mailMembers = Object.keys((mailSchema as { properties: Record<string, unknown> }).properties)

const lineMembers: readonly string[] = [...new Set([...mailMembers, ...options])]

/** @param key of a line that names no key; undefined: it gets none
 * @throws WaybillError OPTION_INVALID, RECIPIENTS_EMPTY, and others of the composer */
export async function submissionOf(line: string, key: string | undefined): Promise<LineSubmission> {
  const members = membersOf(line)
  const asked: Record<string, unknown> = { idempotencyKey: key }
  const mail: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(members)) {
    if (!lineMembers.includes(name))
      throw invalid(name, `there is no member ${name}, but ${lineMembers.join(', ')}`)
    if (options.includes(name)) asked[name] = value
    else mail[name] = value
  }
  for (const name of times) if (asked[name] !== undefined) asked[name] = timeOf(name, asked[name])
  try {
    const { sender, recipients, data } = await composed(mail as MailParts)
    return { ...asked, sender, recipients, data }
  } catch (error) {
    if (error instanceof WaybillError) throw error
    throw invalid('message', thrownText(error))
  }
}

function membersOf(line: string): object {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch (error) {
    throw new WaybillError('OPTION_INVALID', `no JSON: ${thrownText(error)}`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new WaybillError('OPTION_INVALID', 'a line is one JSON object')
  return value
}

/** JSON has no dates: milliseconds since 1970, or ISO 8601. */
function timeOf(name: string, value: unknown): number {
  const ms = typeof value === 'string' ? Date.parse(value) : value
  if (typeof ms === 'number' && Number.isSafeInteger(ms)) return ms
  throw invalid(name, `${name} is ISO 8601, or milliseconds since 1970`)
}

const invalid = (option: string, reason: string): WaybillError =>
  new WaybillError('OPTION_INVALID', reason, { option })

/** @throws UsageError */
export function checkedKey(key: string | undefined): string | undefined {
  if (key === undefined || (key !== '' && key.length <= 100)) return key
  throw new UsageError('--key has 1 to 100 characters')
}
