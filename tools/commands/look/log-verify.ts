/** `waybill log verify`: checks the bytes on disk. */
import { countText, nounText } from '../../../src/base/text.js'
import { verify } from '../../../src/inspect/verify/verify.js'
import {
  exits,
  inspectCommand,
  jsonOption,
  unchecked,
  sentenceOf,
  type InspectCommand,
  type Inspected,
} from './inspection.js'
import { bytesText } from '../text/shown-text.js'

export const logVerify: InspectCommand = inspectCommand(
  {
    synopsis: '[--queue DIR] [--json]',
    options: jsonOption,
    notes:
      'Each damage is shown with log, segment, offset and loss. A batch of the journal verifies as a whole or not at\n' +
      'all; of one that does not, the records that do are read all the same by the other commands, and saved by `log rescue`.\n' +
      'A torn tail is what a crash leaves: its bytes were never settled, and the next start cuts them. Damage to the very last\n' +
      'batch cannot be told from it. What lies before the newest restart positions is garbage, and is not judged.',
  },
  unchecked,
  show,
)

async function show(inspected: Inspected): Promise<number> {
  const { directory, args, out, report, findings, progress, surroundings } = inspected
  const { snapshot, batchCount, recordCount, messageCount, dataBytes, leftoverCount, idsCompared } =
    await verify(directory, report, (done, all) => progress.show(done, all))
  progress.end()
  const { cutBytes, lastBatchBytes } = snapshot.journal
  const sound = findings.length === 0
  if (args.isSet('json')) {
    for (const { log, segment, offsetBytes, bytes, reason, lost } of findings)
      out.json({ damage: { log, segment, offset: offsetBytes, bytes, reason, lost } })
    out.json({
      sound,
      damages: findings.length,
      torn_tail_bytes: cutBytes,
      batches: batchCount,
      records: recordCount,
      messages: messageCount,
      data_bytes: dataBytes,
      leftover_spool_files: leftoverCount,
      ids_compared: idsCompared,
    })
  } else {
    const red = surroundings.isTerminal ? ['\x1b[31m', '\x1b[0m'] : ['', '']
    for (const finding of findings) out.line(`${red[0]}damage: ${sentenceOf(finding)}${red[1]}`)
    out.line(
      `journal: ${countText(batchCount, 'batch', 'batches')} with ${countText(recordCount, 'record')}, to position ${snapshot.end}${lastBatchBytes > 0 ? `, the last one of ${lastBatchBytes} ${nounText(lastBatchBytes, 'byte')}` : ''}`,
    )
    if (cutBytes > 0)
      out.line(
        `torn tail: ${cutBytes} ${nounText(cutBytes, 'byte')} behind it, of a batch that was never settled; normal after a crash`,
      )
    out.line(
      `${countText(messageCount, 'message')} with ${bytesText(dataBytes)} of data${idsCompared ? '' : '; too many to compare their ids'}`,
    )
    if (leftoverCount > 0)
      out.line(
        `spool: ${countText(leftoverCount, 'file')} of no message${sound ? ', removed by the next start' : ' that is found'}`,
      )
    out.line(
      sound
        ? 'sound'
        : `${red[0]}${countText(findings.length, 'damage')}${red[1]}; \`waybill log rescue\` saves what still verifies`,
    )
  }
  return exits.fine
}
