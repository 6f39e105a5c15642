/** `waybill log rescue DIR --to DIR`: copies all readable mail into a new queue.
 * Invariant: the source is only read. Messages are submitted to the new queue, so each is
 * durable there when it is counted. If damage took an outcome, the recipient counts as waiting:
 * mail may come twice, but all readable mail is saved. No message is saved twice, and held
 * messages stay held. */
import { realpath } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { assert } from '../../../src/base/assert.js'
import { countText, nounText } from '../../../src/base/text.js'
import type { Disk } from '../../../src/disk/disk.js'
import type { SubmissionTerms } from '../../../src/engine/accept/submission-terms.js'
import { isWaybillError, openQueue, type Queue, type WaybillError } from '../../../src/index.js'
import { copiesIn } from '../../../src/inspect/messages/copies.js'
import { findingOf, isDamage } from '../../../src/inspect/damage/finding.js'
import { Messages } from '../../../src/inspect/messages/messages.js'
import type { QueueDirectory } from '../../../src/inspect/queue/queue-directory.js'
import type { QueuedMessage } from '../../../src/inspect/messages/queued-message.js'
import { takeSnapshot, type Snapshot } from '../../../src/inspect/queue/snapshot.js'
import type { EnvelopeTerms } from '../../../src/record/terms.js'
import { lineOf, UsageError, type Arguments } from '../cli/command.js'
import { shownQueue } from '../cli/shown-queue.js'
import {
  exits,
  inspectCommand,
  jsonOption,
  sentenceOf,
  type InspectCommand,
  type Inspected,
} from './inspection.js'
import { printable } from '../text/shown-text.js'

/** Submissions under way at once: their data is in memory. */
const submittersMax = 32
/** It may take so long until a message is submitted again. */
const savingMsMax = 60_000

export const logRescue: InspectCommand = inspectCommand(
  {
    synopsis: '[--json] DIR --to DIR',
    operands: true,
    options: { ...jsonOption, to: { value: 'DIR', help: 'the new queue; empty, or not there yet' } },
    notes:
      'Messages keep sender, waiting recipients, what was asked of these (DSN), tags, times and data, and are held if they were;\n' +
      'they get new ids, and their age counts from now. Failed recipients that were not reported are tried again; requested reports\n' +
      'of success are lost. Stop the relay first: mail that it delivers meanwhile would be delivered again.\n' +
      'Each message that could not be saved is listed; one with a damaged envelope has no id any more and is listed as\n' +
      'damage, with its place.',
    positionalQueue: true,
  },
  newPlaceOf,
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

/** @throws UsageError */
function newPlaceOf(args: Arguments): string {
  const to = args.one('to')
  if (to === undefined || to === '') throw new UsageError('--to DIR is required: the new queue')
  return to
}

async function rescue(inspected: Inspected, to: string): Promise<number> {
  const { directory, path, report, progress, surroundings } = inspected
  if (`${await placeOf(to)}/`.startsWith(`${await placeOf(path)}/`))
    throw new UsageError(`${to} is inside the old queue, which is only read`)
  const disk = surroundings.openDisk(to)
  const there = (await namesIn(disk, to)).filter((name) => name !== 'lock')
  if (there.length > 0) throw new UsageError(`${to} is not empty: it holds ${there[0] ?? ''}`)
  const snapshot = await takeSnapshot(directory)
  for (const finding of snapshot.findings) report(finding)
  const messages = new Messages(directory, snapshot, {
    report,
    onProgress: (done, all) => progress.show(done, all),
  })
  const copies = await copiesIn(directory, snapshot)
  const tally: Tally = { saved: 0, recipients: 0, uncertain: 0, lost: [] }
  const queue = await newQueue(to, disk, directory)
  const saveAll = async (from: Messages, isHeld: boolean): Promise<void> => {
    for await (const batch of from.batches()) {
      const left = batch.filter(({ where }) => (where === 'hold') === isHeld).reverse()
      const save = async (): Promise<void> => {
        for (let message = left.pop(); message !== undefined; message = left.pop())
          await saveMessage(message, copies, messages, queue, tally, report)
      }
      await Promise.all(Array.from({ length: submittersMax }, save))
    }
  }
  try {
    // Held messages first, while they are alone: so one verb holds all of them again. The second
    // reading reports damage.
    await saveAll(new Messages(directory, snapshot, { report: () => undefined, lane: 'hold' }), true)
    if (tally.saved > 0) {
      const { messageCount } = await queue.hold({ all: true })
      assert(messageCount === tally.saved, 'what was on hold is on hold again')
    }
    await saveAll(messages, false)
  } finally {
    queue.crash()
  }
  progress.end()
  tell(inspected, snapshot, tally, to)
  return tally.lost.length > 0 ? exits.wrong : exits.fine
}

/** A queue that accepts everything that the old one had. */
function newQueue(to: string, disk: Disk, { header }: QueueDirectory): Promise<Queue> {
  const { segmentBytes, laneSegmentBytes } = header
  return openQueue(to, {
    // A message that fitted there fits here.
    segmentBytes,
    laneSegmentBytes,
    transports: {},
    route: () => ({ transport: 'none', nexthop: 'none' }),
    deliver: false,
    dataBytesMax: 2 ** 31,
    recipientCountMax: 1_000_000,
    disk,
  })
}

function tell(inspected: Inspected, snapshot: Snapshot, tally: Tally, to: string): void {
  const { path, args, out, findings } = inspected
  const { saved, recipients, uncertain, lost } = tally
  const outcomesLost = snapshot.isDamaged || snapshot.findings.some(({ log }) => log === 'journal')
  const { cutBytes } = snapshot.journal
  if (args.isSet('json')) {
    for (const { log, segment, offsetBytes, bytes, reason, lost: what } of findings)
      out.json({ damage: { log, segment, offset: offsetBytes, bytes, reason, lost: what } })
    for (const line of lost) out.json({ lost: line })
    out.json({
      saved,
      recipients,
      uncertain,
      lost: lost.length,
      damages: findings.length,
      outcomes_lost: outcomesLost,
      torn_tail_bytes: cutBytes,
    })
  } else {
    for (const finding of findings) out.line(`damage: ${sentenceOf(finding)}`)
    for (const line of lost.slice(0, lostShownMax)) out.line(`not saved: ${printable(line)}`)
    if (lost.length > lostShownMax) out.line(`not saved: ${lost.length - lostShownMax} more`)
    out.line(
      `${countText(saved, 'message')} with ${countText(recipients, 'recipient')} saved from ${shownQueue(path)} into ${to}`,
    )
    if (uncertain > 0)
      out.line(`${uncertain} of them may have been delivered before: the record of it is damaged`)
    if (outcomesLost)
      out.line('the journal is damaged: outcomes are lost, and delivered mail may be among this')
    if (cutBytes > 0)
      out.line(
        `torn tail: ${cutBytes} ${nounText(cutBytes, 'byte')} of a batch that was never settled, left out; normal after a crash`,
      )
  }
}

/** Resolves a path with all links; a missing name stands for itself. */
async function placeOf(path: string): Promise<string> {
  const whole = resolve(path)
  const parent = dirname(whole)
  try {
    return await realpath(whole)
  } catch {
    return parent === whole ? whole : join(await placeOf(parent), basename(whole))
  }
}

/** @throws UsageError if it is no directory: that is no damage of the old queue */
async function namesIn(disk: Disk, to: string): Promise<string[]> {
  try {
    return await disk.list('')
  } catch (error) {
    if (!isWaybillError(error, 'DISK_FAILED') || error.place.errno !== 'ENOTDIR') throw error
    throw new UsageError(`${to} is no directory`)
  }
}

/** If damage shows a message in several places, the newest readable copy is saved. */
async function saveMessage(
  message: QueuedMessage,
  copies: ReadonlyMap<string, readonly QueuedMessage[]>,
  messages: Messages,
  queue: Queue,
  tally: Tally,
  report: Inspected['report'],
): Promise<void> {
  const { id, sender } = message.envelope
  const who = `${id} from <${sender}>`
  const candidates = copies.get(id) ?? [message]
  const [newest] = candidates
  if (newest!.lane !== message.lane || newest!.at !== message.at) return
  let trouble: WaybillError | undefined
  for (const candidate of candidates)
    try {
      return await saveCopy(candidate, messages, queue, tally)
    } catch (error) {
      if (!isWaybillError(error)) throw error
      if (isDamage(error)) report(findingOf(error, { log: candidate.log }, `message ${who}`))
      trouble ??= error
    }
  tally.lost.push(`${who}: ${lineOf(trouble)}`)
}

/** @throws WaybillError if it cannot be read or stored */
async function saveCopy(
  message: QueuedMessage,
  messages: Messages,
  queue: Queue,
  tally: Tally,
): Promise<void> {
  const { envelope, active, waiting } = message
  const { sender, smtputf8, priority, terms } = envelope
  const all = await messages.content.recipients(message, 0, envelope.recipientCount)
  // Failed recipients without a report are tried again, so that they are reported.
  const untold = sender === '' ? [] : (active?.unreportedFailures() ?? [])
  const indexes = [...(waiting ?? all.keys()), ...untold]
  // All of them have outcomes; only the record that ends the message is missing.
  if (indexes.length === 0) return
  const dsn = await messages.content.dsn(message)
  const recipients = indexes.map((index) => ({ address: all[index] ?? '?', ...dsn?.recipients[index] }))
  const data = (await messages.content.data(message)) ?? refOf(message)
  const ofAll = dsn && { id: dsn.envid, return: dsn.ret }
  const handling = { priority, ...(terms && timelyTerms(terms)) }
  await queue.submit({ sender, recipients, data, smtputf8, dsn: ofAll, ...handling })
  tally.saved++
  tally.recipients += recipients.length
  if (message.uncertain) tally.uncertain++
}

/** Times that have passed are not asked for again. A message that only waits until it expires has
 * no time before which it is not sent. */
function timelyTerms({ tags, notBefore, expiresAt }: EnvelopeTerms): SubmissionTerms {
  const isExpiring = expiresAt > 0 && notBefore >= expiresAt
  return {
    tags,
    notBefore: notBefore > 0 && !isExpiring ? notBefore : undefined,
    expiresAt: expiresAt > Date.now() + savingMsMax ? expiresAt : undefined,
  }
}

const refOf = ({ envelope: { data } }: QueuedMessage): { ref: string } => ({
  ref: data.kind === 'ref' ? data.ref : '',
})
