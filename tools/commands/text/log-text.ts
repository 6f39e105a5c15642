/** Turns a line of the relay's log into text for a terminal. Pure, except for the time zone.
 * Invariant: one line for each line, without control characters; unknown fields are shown as
 * JSON. */
import { bytesText, durationText, fullTime, printable, senderText } from './shown-text.js'

type Line = Readonly<Record<string, unknown>>

const levelNames: Readonly<Record<number, string>> = { 20: 'debug', 40: 'warning', 50: 'error', 60: 'fatal' }

const textOf = (value: unknown): string =>
  printable(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

/** Formats of fields, in this order. */
const shown: Readonly<Record<string, (value: never, line: Line) => string>> = {
  id: (id: string) => printable(id),
  sender: (sender: string) => `from ${senderText(sender)}`,
  recipient: (recipient: string) => `to ${printable(recipient)}`,
  recipients: (recipients: readonly string[]) => `to ${recipients.map(printable).join(', ')}`,
  recipientCount: (count: number) => `for ${count} recipient${count === 1 ? '' : 's'}`,
  hold: (hold: boolean) => (hold ? 'on hold' : ''),
  notBefore: (atMs: number) => `not before ${fullTime(atMs)}`,
  client: ({ address, user }: { address: string; user?: string }) =>
    `by ${printable(address)}${user === undefined ? '' : ` (${printable(user)})`}`,
  messageId: (messageId: string) => printable(messageId),
  remote: (remote: string) => `at ${printable(remote)}`,
  tls: (tls: { version?: string }) => printable(tls.version ?? 'TLS'),
  attempt: (attempt: number) => (attempt > 1 ? `attempt ${attempt}` : ''),
  delayMs: (delayMs: number) => `after ${durationText(delayMs)}`,
  dataBytes: (bytes: number) => bytesText(bytes),
  status: (status: string) => printable(status),
  text: (text: string) => printable(text),
  reply: (reply: string) => printable(reply),
  code: (code: string) => printable(code),
  message: (message: string) => printable(message),
  durationMs: (ms: number) => `in ${durationText(ms)}`,
  err: (error: { message?: string }) => textOf(error.message ?? error),
}

/** Shown by the other fields already. */
const silent: ReadonlySet<string> = new Set([
  'level',
  'time',
  'msg',
  'transport',
  'nexthop',
  'login',
  'session',
])

/** @param json of one line, without its end */
export function logText(json: string): string {
  const line = JSON.parse(json) as Line
  const parts: string[] = [fullTime(Number(line['time'])).slice(11, 19)]
  const level = levelNames[Number(line['level'])]
  if (level !== undefined) parts.push(`${level}:`)
  if (typeof line['msg'] === 'string') parts.push(printable(line['msg']))
  for (const [name, show] of Object.entries(shown))
    if (line[name] !== undefined)
      parts.push((show as (value: unknown, all: Line) => string)(line[name], line))
  for (const [name, value] of Object.entries(line))
    if (!silent.has(name) && shown[name] === undefined) parts.push(`${printable(name)} ${textOf(value)}`)
  return parts.filter((part) => part !== '').join(' ')
}
