/** One record of a log, for people and for programs. */
import { thrownText } from '../../../src/base/realms.js'
import { isDamage } from '../../../src/inspect/damage/finding.js'
import { fieldsOf, type LoggedRecord } from '../../../src/inspect/records/records.js'
import { fullTime, printable } from './shown-text.js'

/** Characters of a record's summary. */
const summaryLengthMax = 200

export function recordJson(record: LoggedRecord): Record<string, unknown> {
  const { log, position, segment, offset, bytes, kind, lane, timeMs } = record
  return { log, position, segment, offset, bytes, kind, lane, time: timeMs, record: fields(record) }
}

/** ` 1234 2026-11-21 01:02:03.456 start lane 2 envelope=…`. @param withLog names the log too */
export function recordLine(record: LoggedRecord, withLog: boolean): string {
  const { log, position, kind, lane, timeMs } = record
  const where = `${withLog ? `${log.padEnd(12)} ` : ''}${String(position).padStart(12)}`
  return `${where}  ${fullTime(timeMs)}  ${kind.padEnd(10)} ${String(lane).padStart(3)}  ${summary(record)}`.trimEnd()
}

function summary(record: LoggedRecord): string {
  const text = Object.entries(fields(record))
    .filter(([, value]) => !isNothing(value))
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ')
  const shown = printable(text)
  return shown.length <= summaryLengthMax ? shown : `${shown.slice(0, summaryLengthMax - 1)}…`
}

const isNothing = (value: unknown): boolean =>
  value === undefined || value === false || value === 0 || (Array.isArray(value) && value.length === 0)

function fields(record: LoggedRecord): Readonly<Record<string, unknown>> {
  try {
    return fieldsOf(record.kind, record.payload)
  } catch (error) {
    if (!isDamage(error)) throw error
    return { damaged: thrownText(error) }
  }
}
