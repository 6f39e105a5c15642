/** `waybill log tail`: shows the end of the journal, and with -f the records settled from now
 * on. */
import { lastRecords, recordsSince } from '../../../src/inspect/records/journal-tail-records.js'
import type { LoggedRecord } from '../../../src/inspect/records/records.js'
import { kinds } from '../../../src/record/frame.js'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  complainOf,
  exits,
  inspectCommand,
  jsonOption,
  type InspectCommand,
  type Inspected,
} from './inspection.js'
import { recordJson, recordLine } from '../text/record-text.js'
import type { Arguments } from '../cli/command.js'
import { parseCount } from '../cli/values.js'
import { kindsOf } from './log-dump.js'

/** The exit code of a shell for a command that SIGINT ended. */
const interruptedExitCode = 130
/** How often the journal is looked at. */
const lookMs = 250

export const logTail: InspectCommand = inspectCommand(
  {
    synopsis: '[--queue DIR] [--json] [-f] [-n N] [--kind K]',
    options: {
      ...jsonOption,
      f: { short: 'f', help: 'go on with records that are settled from now on, until interrupted' },
      n: { short: 'n', value: 'N', help: 'records to begin with, of the kinds that are shown (10)' },
      kind: { value: 'KIND', many: true, help: `${Object.keys(kinds).join(', ')};\nmay be repeated` },
    },
    notes:
      'Records are shown once the batch that they stand in is whole. It reads; the relay does not notice.\n' +
      'With -f it ends with 130, when it is interrupted.',
  },
  wishesOf,
  show,
)

interface Wishes {
  readonly count: number
  readonly wanted: readonly string[]
}

/** @throws UsageError */
function wishesOf(args: Arguments): Wishes {
  return { count: parseCount('n', args.one('n') ?? '10', 0), wanted: kindsOf(args) }
}

async function show(inspected: Inspected, { count, wanted }: Wishes): Promise<number> {
  const { directory, path, args, out, report, findings, surroundings } = inspected
  const json = args.isSet('json')
  const isWanted = ({ kind }: LoggedRecord): boolean => wanted.length === 0 || wanted.includes(kind)
  const write = async (records: readonly LoggedRecord[]): Promise<void> => {
    for (const record of records) {
      if (!isWanted(record)) continue
      if (json) out.json(recordJson(record))
      else out.line(recordLine(record, false))
    }
    await out.flush()
  }
  let toldCount = 0
  // With -f damage is reported when it is met.
  const complain = (): void => {
    complainOf({ findings: findings.slice(toldCount), path, surroundings })
    toldCount = findings.length
  }
  const last = await lastRecords(directory, count, isWanted, report)
  await write(last.records)
  complain()
  let { end } = last
  while (args.isSet('f') && !surroundings.stopped.aborted) {
    await sleep(lookMs, undefined, { signal: surroundings.stopped }).catch(() => undefined)
    end = await recordsSince(directory, end, report, write)
    complain()
  }
  return args.isSet('f') ? interruptedExitCode : exits.fine
}
