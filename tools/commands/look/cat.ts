/** `waybill cat ID`: shows one message like Postfix's postcat: envelope, outcomes, header, body. */
import type { RequestDsn } from '../../../src/delivery/transport.js'
import { findMessage } from '../../../src/inspect/messages/find-message.js'
import { findingOf } from '../../../src/inspect/damage/finding.js'
import { MessageContent } from '../../../src/inspect/messages/message-content.js'
import { Presence } from '../../../src/inspect/queue/stale-damage.js'
import type { QueuedMessage } from '../../../src/inspect/messages/queued-message.js'
import { takeSnapshot } from '../../../src/inspect/queue/snapshot.js'
import { spoolPath } from '../../../src/directory/paths.js'
import { recipientWords, senderWords } from '../../../src/relay/smtp-out/dsn-words.js'
import { oneOperand } from '../cli/command.js'
import {
  complainOf,
  exits,
  inspectCommand,
  jsonOption,
  type InspectCommand,
  type Inspected,
} from './inspection.js'
import { jsonHandling } from './listing-options.js'
import {
  bytesText,
  durationText,
  fullTime,
  printable,
  printableLines,
  reasonOf,
  senderText,
} from '../text/shown-text.js'

export const cat: InspectCommand = inspectCommand(
  {
    synopsis: '[--queue DIR] [--json] [-e] [-h] [-b] ID',
    operands: true,
    options: {
      ...jsonOption,
      e: { short: 'e', help: 'only the envelope' },
      h: { short: 'h', help: 'only the header' },
      b: { short: 'b', help: 'only the body' },
    },
    notes: 'Data is shown only if its checksum is right. A missing message ends it with 1.',
  },
  (args) => oneOperand(args, 'message id').toUpperCase(),
  show,
)

async function show(inspected: Inspected, id: string): Promise<number> {
  const { directory, args, out, report, progress, surroundings } = inspected
  const parts = ['e', 'h', 'b'].filter((part) => args.isSet(part))
  const wants = (part: string): boolean => parts.length === 0 || parts.includes(part)
  const snapshot = await takeSnapshot(directory)
  for (const finding of snapshot.findings) report(finding)
  const message = await findMessage(directory, snapshot, id, report, (done, all) => progress.show(done, all))
  progress.end()
  if (message === undefined) {
    complainOf(inspected)
    surroundings.complain(
      `waybill cat: no message ${printable(id)} in the queue; \`waybill log history\` tells what is left of it\n`,
    )
    return exits.wrong
  }
  const content = new MessageContent(directory)
  let addresses: readonly string[] = []
  let dsn: RequestDsn | undefined
  let data: Buffer | undefined
  let trouble: string | undefined
  try {
    addresses = await content.recipients(message, 0, message.envelope.recipientCount)
    dsn = await content.dsn(message)
    if (wants('h') || wants('b')) data = await content.data(message)
  } catch (error) {
    const finding = findingOf(error, content.log(message.log).placeOf(message.at), `content of ${id}`)
    const isThere = await new Presence(directory, snapshot).isThere(message.lane, message.at)
    trouble = isThere ? finding.reason : 'the relay has moved it meanwhile'
    if (isThere) report(finding)
  }
  const { header, body } = split(data ?? Buffer.alloc(0))
  if (args.isSet('json')) {
    out.json({
      ...jsonEnvelope(message, addresses, dsn),
      ...(data !== undefined && wants('h') ? { header: header.toString('latin1') } : undefined),
      ...(data !== undefined && wants('b') ? { body: body.toString('latin1') } : undefined),
    })
  } else {
    const only = parts.length === 1
    if (wants('e')) out.text(envelopeText(message, addresses, dsn, surroundings.nowMs()))
    if (data !== undefined && wants('h')) out.text(`${only ? '' : '\n*** HEADER ***\n'}${linesOf(header)}`)
    if (data !== undefined && wants('b')) out.text(`${only ? '' : '\n*** BODY ***\n'}${linesOf(body)}`)
    if (message.envelope.data.kind === 'ref' && (wants('h') || wants('b')))
      out.line(`\n*** DATA IS KEPT ELSEWHERE, AS ${printable(message.envelope.data.ref)} ***`)
    if (trouble !== undefined) out.line(`\n*** UNREADABLE: ${printable(trouble)} ***`)
  }
  await out.flush()
  complainOf(inspected)
  return exits.fine
}

/** At the first empty line, which belongs to neither. */
function split(data: Buffer): { readonly header: Buffer; readonly body: Buffer } {
  const match = /\r?\n\r?\n/.exec(data.toString('latin1'))
  if (match === null) return { header: data, body: Buffer.alloc(0) }
  const lineEnd = match[0].startsWith('\r') ? 2 : 1
  return {
    header: data.subarray(0, match.index + lineEnd),
    body: data.subarray(match.index + match[0].length),
  }
}

const linesOf = (bytes: Buffer): string => {
  const text = printableLines(bytes.toString().replaceAll('\t', '    '))
  return text === '' || text.endsWith('\n') ? text : `${text}\n`
}

function envelopeText(
  message: QueuedMessage,
  addresses: readonly string[],
  dsn: RequestDsn | undefined,
  nowMs: number,
): string {
  const { envelope, lane, where, dueAt } = message
  const due =
    where === 'active'
      ? 'being delivered'
      : dueAt === Infinity
        ? 'on hold'
        : dueAt === 0
          ? 'now'
          : `${fullTime(dueAt)} (${dueAt > nowMs ? `in ${durationText(dueAt - nowMs)}` : `since ${durationText(nowMs - dueAt)}`})`
  const asked = dsn === undefined ? '' : senderWords(dsn).trimStart()
  const rows: [string, string][] = [
    ['id', envelope.id],
    ['queue', `${where}, lane ${lane}${message.uncertain ? '; damage took the record of its delivery' : ''}`],
    ['sender', senderText(envelope.sender)],
    ['accepted', `${fullTime(envelope.acceptedAt)} (${durationText(nowMs - envelope.acceptedAt)} ago)`],
    ['attempts', String(envelope.attempts)],
    ['due', due],
    ['data', `${bytesText(envelope.dataBytes)}, ${placeText(message)}`],
    ...(envelope.smtputf8 ? [['needs', 'SMTPUTF8'] as [string, string]] : []),
    ...(asked === '' ? [] : [['asked', asked] as [string, string]]),
    ...termRows(envelope),
  ]
  const lines = rows.map(([name, value]) => `${`${name}:`.padEnd(10)}${value}`)
  for (const [index, address] of addresses.entries()) {
    const { state, reason } = stateOf(message, index)
    const words = dsn === undefined ? '' : recipientWords(dsn, index)
    lines.push(
      `${'recipient:'.padEnd(10)} ${printable(address)}: ${state}${reason === undefined ? '' : ` (${reason})`}${words === '' ? '' : `, asked${words}`}`,
    )
  }
  return `*** ENVELOPE ***\n${lines.join('\n')}\n`
}

function termRows({ terms }: QueuedMessage['envelope']): [string, string][] {
  if (terms === undefined) return []
  const { tags, notBefore, expiresAt } = terms
  return [
    ...(tags.length > 0 ? [['tags', tags.join(', ')] as [string, string]] : []),
    ...(notBefore > 0 ? [['not before', fullTime(notBefore)] as [string, string]] : []),
    ...(expiresAt > 0 ? [['expires', fullTime(expiresAt)] as [string, string]] : []),
  ]
}

const placeText = ({ envelope, log, at }: QueuedMessage): string =>
  `${envelope.data.kind === 'spool' ? `in ${spoolPath(envelope.data.number)}` : envelope.data.kind === 'ref' ? 'kept elsewhere' : 'in the log'}; envelope at ${log} ${at}`

function stateOf(
  { active, notes }: QueuedMessage,
  index: number,
): { readonly state: string; readonly reason: string | undefined } {
  const state = active?.stateOf(index) ?? 'pending'
  const all = [...notes, ...(active?.notesOf('failed') ?? []), ...(active?.notesOf('deferred') ?? [])]
  const note = all.findLast(({ ranges, kind }) => {
    if (active !== undefined && state !== 'pending' && kind !== state) return false
    for (let i = 0; i < ranges.length; i += 2) if (index >= ranges[i]! && index <= ranges[i + 1]!) return true
    return false
  })
  const waits = state === 'pending' && note !== undefined
  return { state: waits ? 'deferred before' : state, reason: note === undefined ? undefined : reasonOf(note) }
}

function jsonEnvelope(
  message: QueuedMessage,
  addresses: readonly string[],
  dsn: RequestDsn | undefined,
): Record<string, unknown> {
  const { envelope, where, log, at, uncertain } = message
  return {
    queue_name: where,
    queue_id: envelope.id,
    arrival_time: Math.floor(envelope.acceptedAt / 1000),
    message_size: envelope.dataBytes,
    sender: senderText(envelope.sender),
    recipients: addresses.map((address, index) => {
      const { state, reason } = stateOf(message, index)
      return {
        address,
        state,
        ...(reason === undefined ? undefined : { delay_reason: reason }),
        ...dsn?.recipients[index],
      }
    }),
    ...jsonHandling(message, dsn),
    log,
    position: at,
    ...(envelope.data.kind === 'ref' ? { data_ref: envelope.data.ref } : undefined),
    ...(uncertain ? { uncertain } : undefined),
  }
}
