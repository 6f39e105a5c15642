/** `waybill log at POSITION`: lists the queue as it was when the journal ended there. */
import { countText } from '../../../src/base/text.js'
import { position } from '../../../src/base/position.js'
import type { Finding } from '../../../src/inspect/damage/finding.js'
import { Messages } from '../../../src/inspect/messages/messages.js'
import {
  addressesIn,
  readableAddresses,
  readableDsn,
} from '../../../src/inspect/messages/waiting-recipients.js'
import { isStillNeeded, snapshotAt } from '../../../src/inspect/records/past-snapshot.js'
import { takeSnapshot } from '../../../src/inspect/queue/snapshot.js'
import { oneOperand, UsageError, type Arguments } from '../cli/command.js'
import {
  complainOf,
  exits,
  inspectCommand,
  jsonOption,
  type InspectCommand,
  type Inspected,
} from './inspection.js'
import { jsonOf, listingRule, textOf } from './mailq-text.js'

export const logAt: InspectCommand = inspectCommand(
  {
    synopsis: '[--queue DIR] [--json] POSITION',
    operands: true,
    options: jsonOption,
    notes:
      'Positions are those of `log dump`. Recycled mail is left out. A position that the journal\n' +
      'does not reach any more, or not yet, ends it with 1.',
  },
  positionOf,
  show,
)

/** @throws UsageError */
function positionOf(args: Arguments): string {
  const text = oneOperand(args, 'position')
  if (!/^\d{1,15}$/.test(text)) throw new UsageError(`'${text}' is no position: a number`)
  return text
}

async function show(inspected: Inspected, text: string): Promise<number> {
  const { directory, args, out, report, surroundings } = inspected
  const now = await takeSnapshot(directory)
  for (const finding of now.findings) report(finding)
  const past = await snapshotAt(directory, now, position(Number(text)))
  if (past.kind === 'gone') {
    complainOf(inspected)
    surroundings.complain(`waybill log at: ${past.reason}\n`)
    return exits.wrong
  }
  let goneCount = 0
  const newest = past.snapshot.findings.length > 0 ? await takeSnapshot(directory) : now
  // Old places may be recycled by now: that is no damage.
  const judge = (finding: Finding): void => {
    if (isStillNeeded(finding, directory, newest)) report(finding)
    else goneCount++
  }
  for (const finding of past.snapshot.findings) judge(finding)
  const messages = new Messages(directory, past.snapshot, { report: judge })
  let count = 0
  let activeCount = 0
  for await (const batch of messages.batches())
    for (const message of batch) {
      const addresses = addressesIn(message) ?? (await readableAddresses(message, messages, judge)) ?? []
      if (args.isSet('json'))
        out.json(jsonOf(message, addresses, await readableDsn(message, messages, judge)))
      else out.text((count === 0 ? listingRule : '\n') + textOf(message, addresses))
      count++
      if (message.active !== undefined) activeCount++
      if (out.isFull) await out.flush()
    }
  if (!args.isSet('json')) out.line(`\n-- ${countText(count, 'message')} at position ${text}.`)
  await out.flush()
  complainOf(inspected)
  const left = past.snapshot.working.length - activeCount + goneCount
  if (left > 0)
    surroundings.complain(
      `waybill log at: ${countText(left, 'message or stretch', 'messages or stretches')} of that time recycled since\n`,
    )
  return exits.fine
}
