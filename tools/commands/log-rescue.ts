/** `waybill log rescue DIR --to DIR`: everything that still verifies, into a new queue.
 * Invariant: the source is only read. Mail goes into the new queue by its front door, so each message is durable there when it is counted;
 * where damage took an outcome, the recipient counts as waiting: mail may come twice, but none is left behind that can be read. */
import { isWaybillError, openQueue, type Queue } from '../../src/index.js'
import { findingOf, isDamage } from '../../src/inspect/finding.js'
import { Messages } from '../../src/inspect/messages.js'
import type { QueuedMessage } from '../../src/inspect/queued-message.js'
import { takeSnapshot } from '../../src/inspect/snapshot.js'
import { lineOf, UsageError } from './command.js'
import {
  exits,
  inspectCommand,
  jsonOption,
  sentenceOf,
  type InspectCommand,
  type Inspected,
} from './inspection.js'
import { printable } from './mail-text.js'
import { waitingAddresses } from './selection.js'

/** Submissions under way at once: their data is in memory. */
const submittersMax = 32

export const logRescue: InspectCommand = inspectCommand(
  {
    summary: 'copies all mail that still verifies into a new queue',
    synopsis: '[--json] DIR --to DIR',
    operands: true,
    options: { ...jsonOption, to: { value: 'DIR', help: 'the new queue; empty, or not there yet' } },
    notes:
      'Messages keep sender, waiting recipients and data; they get new ids, and their age counts from now. Held mail is not\n' +
      'held any more. Recipients that failed before their sender was told are tried again. Stop the relay first: what it delivers\n' +
      'meanwhile would be delivered again. What could not be saved is told message by message; one whose envelope is damaged has no\n' +
      'name any more and is told as damage, with its place.',
    positionalQueue: true,
  },
  rescue,
)

interface Tally {
  saved: number
  recipients: number
  uncertain: number
  readonly lost: string[]
}

/** Lines about single messages. */
const lostShownMax = 1000

async function rescue(inspected: Inspected): Promise<number> {
  const { directory, path, args, out, report, findings, progress, surroundings } = inspected
  const to = args.one('to')
  if (to === undefined) throw new UsageError('--to says where the new queue goes')
  const disk = surroundings.openDisk(to)
  const there = (await disk.list('')).filter((name) => name !== 'lock')
  if (there.length > 0) throw new UsageError(`${to} is not empty: there is ${there[0] ?? ''}`)
  const snapshot = await takeSnapshot(directory)
  for (const finding of snapshot.findings) report(finding)
  const messages = new Messages(directory, snapshot, {
    report,
    onProgress: (done, all) => progress.show(done, all),
  })
  const tally: Tally = { saved: 0, recipients: 0, uncertain: 0, lost: [] }
  const { segmentBytes, laneSegmentBytes } = directory.header
  const queue = await openQueue(to, {
    // What fitted there fits here.
    segmentBytes,
    laneSegmentBytes,
    transports: {},
    route: () => ({ transport: 'none', nexthop: 'none' }),
    deliver: false,
    dataBytesMax: 2 ** 31,
    recipientCountMax: 1_000_000,
    disk,
  })
  try {
    for await (const batch of messages.batches()) {
      const left = [...batch].reverse()
      const save = async (): Promise<void> => {
        for (let message = left.pop(); message !== undefined; message = left.pop())
          await saveMessage(message, messages, queue, tally, report)
      }
      await Promise.all(Array.from({ length: submittersMax }, save))
    }
  } finally {
    queue.crash()
  }
  progress.end()
  const { saved, recipients, uncertain, lost } = tally
  if (args.isSet('json')) {
    for (const { log, segment, offsetBytes, bytes, reason, lost: what } of findings)
      out.json({ damage: { log, segment, offset: offsetBytes, bytes, reason, lost: what } })
    for (const line of lost) out.json({ lost: line })
    out.json({ saved, recipients, uncertain, lost: lost.length, damages: findings.length })
  } else {
    for (const finding of findings) out.line(`damage: ${sentenceOf(finding)}`)
    for (const line of lost.slice(0, lostShownMax)) out.line(`not saved: ${printable(line)}`)
    if (lost.length > lostShownMax) out.line(`not saved: ${lost.length - lostShownMax} more`)
    out.line(`${saved} messages with ${recipients} recipients saved from ${path} into ${to}`)
    if (uncertain > 0)
      out.line(`${uncertain} of them may have been delivered before: the record that would say so is damaged`)
  }
  return lost.length > 0 ? exits.wrong : exits.fine
}

async function saveMessage(
  message: QueuedMessage,
  messages: Messages,
  queue: Queue,
  tally: Tally,
  report: Inspected['report'],
): Promise<void> {
  const { envelope } = message
  const who = `${envelope.id} from <${envelope.sender}>`
  try {
    const waiting = await waitingAddresses(message, messages.content)
    // Those that failed and of whom the sender was not told are tried again: so he will be.
    const recipients = [...waiting, ...(await untoldFailures(message, messages))]
    // All of them have their outcome, and only the record that ends the message is missing.
    if (recipients.length === 0) return
    const data = (await messages.content.data(message)) ?? refOf(message)
    await queue.submit({ sender: envelope.sender, recipients, data, smtputf8: envelope.smtputf8 })
    tally.saved++
    tally.recipients += recipients.length
    if (message.uncertain) tally.uncertain++
  } catch (error) {
    if (!isWaybillError(error)) throw error
    if (isDamage(error)) report(findingOf(error, { log: message.log }, `message ${who}`))
    tally.lost.push(`${who}: ${lineOf(error)}`)
  }
}

async function untoldFailures(message: QueuedMessage, { content }: Messages): Promise<string[]> {
  const { active, envelope } = message
  const failures = envelope.sender === '' ? [] : (active?.unreportedFailures() ?? [])
  if (failures.length === 0) return []
  const addresses = await content.recipients(message, 0, envelope.recipientCount)
  return failures.map((index) => addresses[index]!)
}

const refOf = ({ envelope: { data } }: QueuedMessage): { ref: string } => ({
  ref: data.kind === 'ref' ? data.ref : '',
})
