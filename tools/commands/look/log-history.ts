/** `waybill log history ID`: shows all records of a message that are still on disk. */
import { historyOf } from '../../../src/inspect/records/history.js'
import { takeSnapshot } from '../../../src/inspect/queue/snapshot.js'
import { oneOperand } from '../cli/command.js'
import {
  complainOf,
  exits,
  inspectCommand,
  jsonOption,
  type InspectCommand,
  type Inspected,
} from './inspection.js'
import { printable } from '../text/shown-text.js'
import { recordJson, recordLine } from '../text/record-text.js'

export const logHistory: InspectCommand = inspectCommand(
  {
    synopsis: '[--queue DIR] [--json] ID',
    operands: true,
    options: jsonOption,
    notes:
      'Reports on the message are shown with it. Recycled records are gone; a message without any record ends it with 1.',
  },
  (args) => oneOperand(args, 'message id').toUpperCase(),
  show,
)

async function show(inspected: Inspected, id: string): Promise<number> {
  const { directory, args, out, report, surroundings, progress } = inspected
  const snapshot = await takeSnapshot(directory)
  for (const finding of snapshot.findings) report(finding)
  let read = 0
  const all = snapshot.end
  const records = await historyOf(directory, snapshot, id, report, (bytes) =>
    progress.show((read += bytes), all),
  )
  progress.end()
  for (const record of records) {
    if (args.isSet('json')) out.json(recordJson(record))
    else out.line(recordLine(record, true))
    if (out.isFull) await out.flush()
  }
  await out.flush()
  complainOf(inspected)
  if (records.length > 0) return exits.fine
  surroundings.complain(`waybill log history: nothing of ${printable(id)} is on disk\n`)
  return exits.wrong
}
