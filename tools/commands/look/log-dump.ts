/** `waybill log dump`: shows the records of a log. */
import { position } from '../../../src/base/position.js'
import type { Report } from '../../../src/inspect/damage/finding.js'
import { readLog, type LogRange } from '../../../src/inspect/records/log-reader.js'
import type { LogName, QueueDirectory } from '../../../src/inspect/queue/queue-directory.js'
import type { LoggedRecord } from '../../../src/inspect/records/records.js'
import { takeSnapshot, type Snapshot } from '../../../src/inspect/queue/snapshot.js'
import { decodeEnvelope } from '../../../src/record/envelope.js'
import { isWaybillError } from '../../../src/errors.js'
import { kinds } from '../../../src/record/frame.js'
import { UsageError, type Arguments } from '../cli/command.js'
import {
  complainOf,
  exits,
  inspectCommand,
  jsonOption,
  type InspectCommand,
  type Inspected,
} from './inspection.js'
import { recordJson, recordLine } from '../text/record-text.js'
import { parseWord } from '../cli/values.js'

export const logDump: InspectCommand = inspectCommand(
  {
    synopsis: '[--queue DIR] [--json] [--log NAME] [--from P] [--to P] [--kind K] [--id ID]',
    options: {
      ...jsonOption,
      log: { value: 'NAME', help: 'journal, 2/envelopes, 2/data, …, or all (journal)' },
      from: { value: 'POSITION', help: 'records at or behind it' },
      to: { value: 'POSITION', help: 'records before it' },
      kind: { value: 'KIND', many: true, help: `${Object.keys(kinds).join(', ')};\nmay be repeated` },
      id: { value: 'ID', help: 'envelopes of this message; `log history` shows all that happened to it' },
    },
    notes:
      'Each line: position, time, kind, lane, fields that are not zero or empty. Data is not shown, only its length.\n' +
      'With --json every field; FORMAT.md explains them.',
  },
  wishesOf,
  dump,
)

interface Wishes {
  readonly from: number
  readonly to: number
  readonly wanted: readonly string[]
}

/** @throws UsageError */
function wishesOf(args: Arguments): Wishes {
  return {
    from: positionOf(args, 'from') ?? 0,
    to: positionOf(args, 'to') ?? Infinity,
    wanted: kindsOf(args),
  }
}

/** @throws UsageError */
export function kindsOf(args: Arguments): readonly string[] {
  return args.all('kind').map((kind) => parseWord('kind', kind, Object.keys(kinds)))
}

async function dump(inspected: Inspected, { from, to, wanted }: Wishes): Promise<number> {
  const { directory, args, out, report } = inspected
  const isWanted = filterOf(wanted, args.one('id')?.toUpperCase(), report)
  const json = args.isSet('json')
  const snapshot = await takeSnapshot(directory)
  for (const finding of snapshot.findings) report(finding)
  const names = await logNames(directory, snapshot, args)
  for (const name of names)
    for await (const batch of readLog(
      directory,
      snapshot,
      wholeSegments(directory, name, from, to),
      report,
    )) {
      for (const record of batch) {
        if (record.position < from || record.position >= to || !isWanted(record)) continue
        if (json) out.json(recordJson(record))
        else out.line(recordLine(record, names.length > 1))
        if (out.isFull) await out.flush()
      }
    }
  await out.flush()
  complainOf(inspected)
  return exits.fine
}

/** The range to be read: a given position need not be the beginning of a frame. */
function wholeSegments(directory: QueueDirectory, name: LogName, from: number, to: number): LogRange {
  const { grid } = directory.log(name)
  const last = to === Infinity ? undefined : grid.indexOf(position(to))
  return {
    name,
    from: grid.at(grid.indexOf(position(from)), 0),
    to: last === undefined ? undefined : grid.at(last + 1, 0),
  }
}

export function filterOf(
  wanted: readonly string[],
  id: string | undefined,
  report: Report,
): (record: LoggedRecord) => boolean {
  const idBytes = id === undefined ? undefined : Buffer.from(id)
  return (record) => {
    if (wanted.length > 0 && !wanted.includes(record.kind)) return false
    if (idBytes === undefined) return true
    if (record.kind !== 'envelope' || !record.payload.includes(idBytes)) return false
    try {
      return decodeEnvelope(record.payload).id === id
    } catch (error) {
      if (!isWaybillError(error, 'LOG_CORRUPT')) throw error
      const { log, segment, offset } = record
      report({
        log,
        segment,
        offsetBytes: offset,
        bytes: record.bytes,
        reason: error.message,
        lost: 'an envelope',
      })
      return false
    }
  }
}

/** @throws UsageError */
async function logNames(
  directory: QueueDirectory,
  { lanes }: Snapshot,
  args: Arguments,
): Promise<readonly LogName[]> {
  const asked = args.one('log') ?? 'journal'
  const there = (await directory.logs(lanes)).map(({ name }) => name)
  if (asked === 'all') return there
  const name = there.find((candidate) => candidate === asked)
  if (name === undefined) throw new UsageError(`no log '${asked}' in this queue: ${there.join(', ')}, or all`)
  return [name]
}

/** @throws UsageError */
export function positionOf(args: Arguments, option: string): ReturnType<typeof position> | undefined {
  const text = args.one(option)
  if (text === undefined) return undefined
  if (!/^\d{1,15}$/.test(text)) throw new UsageError(`--${option} takes a position, not '${text}'`)
  return position(Number(text))
}
