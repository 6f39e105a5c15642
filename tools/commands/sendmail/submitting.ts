/** Hands a message to a queue: by SMTP to the relay that has it open, or by opening it.
 * Invariant: one process has the queue open. The relay is asked first, over its socket in the
 * directory: so other users can submit, and the slow loading of the engine is avoided. Where none
 * answers, a message is left in `maildrop/`, if a relay has ever served the queue: the next one
 * takes it up through its door, with aliases and limits. A session waits for a process that is
 * leaving the queue. */
import { access, stat } from 'node:fs/promises'
import { hostname as machineName } from 'node:os'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { errnoOf } from '../../../src/disk/failure.js'
import { madeDirectory } from '../../../src/disk/names.js'
import { listeningSocket } from '../../../src/disk/queue-socket.js'
import { isWaybillError, WaybillError } from '../../../src/errors.js'
import type { DeliveryResult, Outcome, Queue, SiteTrouble, SubmissionDsn } from '../../../src/index.js'
import { dropMail, maildropDirectory, makeMaildrop } from '../../../src/relay/maildrop/maildrop-file.js'
import { queueHeaderName } from '../../../src/directory/header.js'
import { actAsOwner } from '../cli/queue-owner.js'
import { connectRelay } from '../cli/relay-socket.js'
import type { Endpoint } from '../cli/values.js'

export interface Mail {
  readonly sender: string
  readonly recipients: readonly string[]
  readonly data: Buffer
  /** The DSN requests for all recipients. */
  readonly dsn: SubmissionDsn
}

/** The server: over TCP, or the relay of this machine. */
type Server = Endpoint | { readonly connect: () => Promise<Socket | undefined> }

/** How long to wait for a process that is leaving the directory, milliseconds. */
const lockedWaitMs = 5000
const lockedLookMs = 100

/** Delivers it like a relay, in one attempt. Recipients beyond the server's limit get a separate
 * message: a repeated call would send it to the others twice. */
export async function overSmtp(mail: Mail, server: Server): Promise<DeliveryResult> {
  const result = await inOneTransaction(mail, server)
  if ('kind' in result) return result
  const left = mail.recipients.filter((_, i) => isOneTooMany(result[i]!))
  if (left.length === 0 || !result.some(({ kind }) => kind === 'delivered')) return result
  const next = await overSmtp({ ...mail, recipients: left }, server)
  const others = 'kind' in next ? left.map(() => outcomeOf(next)) : [...next]
  return result.map((outcome) => (isOneTooMany(outcome) ? others.shift()! : outcome))
}

const isOneTooMany = (outcome: Outcome): boolean => outcome.kind === 'deferred' && outcome.status === '4.5.3'

/** Of one recipient, when others have theirs already. */
const outcomeOf = (result: Outcome | SiteTrouble): Outcome =>
  result.kind === 'site' ? { ...result, kind: 'deferred' } : result

async function inOneTransaction(mail: Mail, server: Server): Promise<DeliveryResult> {
  const { localTransport, smtpTransport } = await import('../../../src/relay/smtp-out/smtp-out.js')
  const options = { hostname: machineName(), connectionReuse: { idleMs: 0 } }
  // No network lies between here and this machine's relay, a bad certificate is no reason to wait,
  // and it greets at once or hangs.
  const transport =
    'host' in server
      ? smtpTransport({ ...server, ...options })
      : localTransport(server.connect, { ...options, tls: 'none', greetingTimeoutMs: 30_000 })
  const { data, dsn } = mail
  const request = {
    ...mail,
    id: '',
    attempts: 0,
    nexthop: 'localhost',
    acceptedAt: Date.now(),
    dataBytes: data.length,
    smtputf8: false,
    dsn: isNothing(dsn)
      ? undefined
      : { ret: dsn.return, envid: dsn.id, recipients: mail.recipients.map(() => ({ notify: dsn.notify })) },
    data: () => Promise.resolve(data),
    stream: () => Readable.from([data]),
  }
  return transport.deliver(request, new AbortController().signal)
}

const isNothing = ({ id, return: ret, notify }: SubmissionDsn): boolean =>
  id === undefined && ret === undefined && notify === undefined

/** No relay was reached (4.4.1), or it turned the session away because it has too many (4.3.2): the
 * message was not taken. No other code counts. A relay may say 421 of time, 4.4.2, behind the end
 * of the data, too. */
export const isUnreachable = (result: DeliveryResult): boolean =>
  'kind' in result && result.kind === 'site' && (result.status === '4.4.1' || result.status === '4.3.2')

/** Is there a queue, or a directory that this user may not look at? A wrongly named directory gets
 * no mail:
 *    1. cron's wrapper says --queue /var/lib/waybil/queue
 *    2. a queue is made there, and cron gets 0
 *    3. no relay ever reads it */
export const mayBeQueue = (directory: string): Promise<boolean> =>
  access(join(directory, queueHeaderName)).then(
    () => true,
    (error: unknown) => !['ENOENT', 'ENOTDIR'].includes(errnoOf(error) ?? ''),
  )

/** A relay has made it: it serves the queue. */
const hasMaildrop = (directory: string): Promise<boolean> =>
  access(join(directory, maildropDirectory)).then(
    () => true,
    () => false,
  )

/** Leaves it in `maildrop/`, for the next relay. @returns its id
 * @throws WaybillError QUEUE_LOCKED if there is no such directory, DISK_FULL, DISK_FAILED */
export async function leftInMaildrop(directory: string, mail: Mail): Promise<string> {
  if (!(await hasMaildrop(directory))) {
    await makeMaildrop(directory).catch((error: unknown) => {
      const why = `no relay answers, and there is no ${maildropDirectory}/ to leave the message in`
      throw new WaybillError('QUEUE_LOCKED', why, { path: directory }, error)
    })
  }
  return dropMail(directory, mail)
}

/** Gives the message to the relay that has the queue open; without one, opens a queue that no relay
 * has served, without waiting.
 * @returns the result of `atRelay` or `withOwn`; undefined if neither was possible
 * @throws errors of `openQueue` */
export async function withQueueNow<T>(
  directory: string,
  dataBytesMax: number,
  withOwn: (queue: Queue) => Promise<T>,
  atRelay: (relay: Socket) => Promise<T | undefined>,
): Promise<T | undefined> {
  await actAsOwner(directory)
  try {
    const relay = await connectRelay(directory)
    const result = relay === undefined ? undefined : await atRelay(relay)
    if (result !== undefined) return result
    return (await hasMaildrop(directory)) ? undefined : await opened(directory, dataBytesMax, withOwn)
  } catch (error) {
    if (isForeign(error) || isWaybillError(error, 'QUEUE_LOCKED') || (await isAnothers(directory)))
      return undefined
    throw error
  }
}

/** This user may not open the queue. */
const isForeign = (error: unknown): boolean =>
  isWaybillError(error, 'DISK_FAILED') && error.place.errno === 'EACCES'

/** Is the directory another user's, so that this one cannot open the queue? */
async function isAnothers(directory: string): Promise<boolean> {
  const stats = await stat(directory).catch(() => undefined)
  return stats !== undefined && stats.uid !== process.geteuid?.()
}

async function opened<T>(
  directory: string,
  dataBytesMax: number,
  withOwn: (queue: Queue) => Promise<T>,
): Promise<T> {
  await madeDirectory(directory)
  const { openQueue } = await import('../../../src/queue.js')
  const queue = await openQueue(directory, {
    deliver: false,
    transports: {},
    route: () => ({ transport: 'none', nexthop: 'none' }),
    dataBytesMax,
  })
  try {
    return await withOwn(queue)
  } finally {
    queue.crash()
  }
}

/** Asks the relay that has the queue open, or opens it.
 * @param atRelay with a connection to it; returns undefined if it cannot be reached after all: it
 * may be leaving
 * @throws WaybillError QUEUE_LOCKED if neither is possible for some seconds; errors of
 * `openQueue` */
export async function withQueue<T>(
  directory: string,
  dataBytesMax: number,
  withOwn: (queue: Queue) => Promise<T>,
  atRelay: (relay: Socket) => Promise<T | undefined>,
): Promise<T> {
  await actAsOwner(directory)
  for (const startedAt = performance.now(); ; await sleep(lockedLookMs)) {
    const relay = await connectRelay(directory)
    const result = relay === undefined ? undefined : await atRelay(relay)
    if (result !== undefined) return result
    try {
      return await opened(directory, dataBytesMax, withOwn)
    } catch (error) {
      const foreign = isForeign(error)
      if (!foreign && !isWaybillError(error, 'QUEUE_LOCKED')) throw error
      if (foreign && !(await hadRelay(directory))) throw error
      if (performance.now() - startedAt <= lockedWaitMs) continue
      if (!foreign) throw error
      throw new WaybillError('QUEUE_LOCKED', 'another user owns the queue, and no relay answers', {
        path: directory,
      })
    }
  }
}

/** A relay has run there, and left its socket behind. */
const hadRelay = (directory: string): Promise<boolean> =>
  access(join(directory, listeningSocket.name)).then(
    () => true,
    () => false,
  )
