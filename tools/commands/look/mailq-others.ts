/** `waybill mailq` of a user that may not read the queue's files: the relay is asked.
 * Invariant: nothing is read but what the relay gives to all users (`serve --mailq-users`). */
import { access, constants } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { isError } from '../../../src/base/realms.js'
import { systemClock } from '../../../src/base/clock.js'
import { includeWanted } from '../../../src/base/mail-address.js'
import { ControlChannel } from '../../../src/control/channel.js'
import { answerBytesMax, readAnswer } from '../../../src/control/protocol.js'
import { connectQueueSocket, mailqSocket } from '../../../src/disk/queue-socket.js'
import { WaybillError } from '../../../src/errors.js'
import type { ListedMessage } from '../../../src/index.js'
import type { Selection } from '../../../src/inspect/messages/queued-message.js'
import { queueNameOf } from '../../../src/lane/lane.js'
import { journalDirectory } from '../../../src/log/journal.js'
import { isStoreUrl } from '../../../src/store/is-store-url.js'
import { lineOf } from '../cli/command.js'
import { Output, OutputClosed, type Surroundings } from '../text/output.js'
import { exits } from './inspection.js'
import type { Wishes } from './listing-options.js'
import { Tally, type ShownMessage } from './mailq-text.js'

const stallMs = 30_000

/** False only where the system says that this user may not. */
export async function mayRead(path: string): Promise<boolean> {
  if (isStoreUrl(path) || process.geteuid?.() === 0) return true
  try {
    await access(join(path, journalDirectory), constants.R_OK)
    return true
  } catch (error) {
    return !(isError(error) && 'code' in error && error.code === 'EACCES')
  }
}

export async function listForOthers(
  path: string,
  { selection, limit, json }: Wishes,
  surroundings: Surroundings,
): Promise<number> {
  const out = new Output(surroundings)
  const tally = new Tally(out, json)
  let isCut = false
  try {
    for await (const message of messagesOf(path, () => (isCut = true))) {
      if (!matches(message, selection)) continue
      tally.add(shownOf(message), message.recipients, {
        dsn: dsnOf(message),
        routes: message.routed?.map(({ route }) => route),
      })
      if (out.isFull) await out.flush()
      if (tally.count >= limit) break
    }
    tally.end('')
    await out.flush()
  } catch (error) {
    if (error instanceof OutputClosed) return exits.fine
    if (!(error instanceof WaybillError)) throw error
    surroundings.complain(`waybill: ${lineOf(error)}\n`)
    return exits.wrong
  }
  if (!isCut || tally.count >= limit) return exits.fine
  surroundings.complain('waybill: more mail waits; the owner of the queue sees all of it\n')
  return exits.wrong
}

/** @throws WaybillError */
async function* messagesOf(path: string, onCut: () => void): AsyncGenerator<ListedMessage> {
  const socket: Socket | undefined = await connectQueueSocket(path, mailqSocket)
  if (socket === undefined)
    throw new WaybillError('DISK_FAILED', 'this user may not read the queue, and no relay shows it', { path })
  const channel = new ControlChannel(socket, { lineBytesMax: answerBytesMax, clock: systemClock, stallMs })
  try {
    for (;;) {
      const line = await channel.next()
      if (line === undefined)
        throw new WaybillError('QUEUE_CRASHED', 'the relay has gone away', {}, channel.error)
      const answer = readAnswer(line)
      if (answer.kind === 'message') yield answer.message
      else if (answer.kind === 'result') return answer.isCut === true ? onCut() : undefined
    }
  } finally {
    channel.destroy()
  }
}

function matches(message: ListedMessage, selection: Selection): boolean {
  const { sender, lane, acceptedUntil, tag } = selection
  return (
    (sender === undefined || message.sender === sender) &&
    (lane === undefined || lane === message.lane || lane === queueNameOf(message.where)) &&
    (acceptedUntil === undefined || message.acceptedAt <= acceptedUntil) &&
    (tag === undefined || message.tags?.includes(tag) === true) &&
    includeWanted(message.recipients, selection)
  )
}

function shownOf(message: ListedMessage): ShownMessage {
  const { id, sender, acceptedAt, dataBytes, attempts, recipientCount, tags, notBefore, expiresAt } = message
  const waiting = message.routed?.map(({ index }) => index)
  const terms = { tags: tags ?? [], notBefore: notBefore ?? 0, expiresAt: expiresAt ?? 0, warnAt: 0 }
  return {
    envelope: {
      id,
      sender,
      acceptedAt,
      dataBytes,
      attempts,
      terms,
      recipientCount: Math.max(recipientCount, (waiting?.at(-1) ?? 0) + 1),
    },
    where: queueNameOf(message.where),
    lane: message.lane,
    dueAt: message.dueAt,
    waiting,
    waitingCount: recipientCount,
    notes: message.notes,
    uncertain: false,
  }
}

/** By the recipients' indexes in the envelope. */
function dsnOf({ dsn, routed }: ListedMessage): ListedMessage['dsn'] {
  if (dsn === undefined) return undefined
  const recipients: NonNullable<ListedMessage['dsn']>['recipients'][number][] = []
  for (const [i, asked] of dsn.recipients.entries()) recipients[routed?.[i]?.index ?? i] = asked
  return { ...dsn, recipients }
}
