/** Submits the messages that programs have left in a queue's `maildrop/` (README.md).
 * Invariant: a file is removed only when its message is durable in the queue, and a message is
 * submitted only when its file lies durably in `taken/`. So the files there are the only ones
 * of which the next life must ask whether the queue has their messages (remove-durable.ts). */
import { createHash } from 'node:crypto'
import { constants, copyFile, open, rename, rm } from 'node:fs/promises'
import { hostname as machineName } from 'node:os'
import { basename, extname, join } from 'node:path'
import { systemClock, type Clock, type Timer } from '../../base/clock.js'
import { isInternational } from '../../base/mail-address.js'
import { newMessageId, type MessageId } from '../../base/message-id.js'
import { diskFailure, errnoOf } from '../../disk/failure.js'
import { syncDirectory } from '../../disk/sync-directory.js'
import { composeReport, isReportingMta } from '../../bounce/report.js'
import { reportDecision, reportRecipientsMax } from '../../bounce/report-decision.js'
import { isWaybillError, WaybillError } from '../../errors.js'
import type { RecipientTables } from '../parameters/recipient-refusal.js'
import { checkHeader, completed } from '../smtp-in/completed-header.js'
import { dateText, messageIdOf } from '../smtp-in/received.js'
import { plainAddress, type SubmitPort } from '../smtp-in/smtp-handlers.js'
import { expanded } from '../tables/aliases.js'
import { shownSender, type Senders } from '../tables/senders.js'
import {
  checkedRecipients,
  refusedFor,
  type CheckedRecipients,
  type RefusedRecipient,
} from './maildrop-recipients.js'
import {
  idOfName,
  maildropDirectory,
  namesIn,
  readDropped,
  takenDirectory,
  type FoundMail,
} from './maildrop-file.js'

export interface PickupTables extends RecipientTables {
  readonly senders?: Senders | undefined
}

export interface PickupOptions {
  /** The queue's directory. */
  readonly queue: string
  readonly port: SubmitPort
  /** Largest message, bytes. */
  readonly sizeBytesMax: number
  readonly hostname?: string
  readonly tables?: () => PickupTables
  /** Of a file whose message is refused, in whole or in part, and whose sender gets no report, or
   * that cannot be read. It, or a copy, is kept, and not looked at again. */
  readonly onRefusal: (path: string, error: unknown) => void
  /** Of recipients that are refused, when the report to the sender is durable. */
  readonly onReported: (id: MessageId, refused: readonly RefusedRecipient[]) => void
  /** Of what may go better next time. */
  readonly onTrouble: (error: unknown) => void
  readonly clock?: Clock
}

/** Between two looks, milliseconds. */
const lookMs = 5000
/** Files taken up together. */
const batchMax = 50
/** A batch of so many bytes takes no further file: a hole in one takes memory when it is read. */
const batchBytesMax = 64 * 1024 * 1024

/** What ends a submission now, and may not later. */
const passing: ReadonlySet<string> = new Set([
  'DISK_FULL',
  'DISK_FAILED',
  'QUEUE_CRASHED',
  'QUEUE_DRAINING',
  'SUBMIT_ABORTED',
])

/** A file in `taken/`. */
interface Taken {
  readonly name: string
  readonly mail: FoundMail
}

export class Pickup {
  readonly #options: PickupOptions
  readonly #maildrop: string
  readonly #taken: string
  readonly #clock: Clock
  /** Refused, under a name that could not be changed. */
  readonly #passedOver = new Set<string>()
  /** In the queue, with a file that could not be removed yet. */
  readonly #durable = new Set<MessageId>()
  /** Refused recipients are reported, or kept; the others could not be submitted yet. */
  readonly #reported = new Map<MessageId, ReadonlySet<string>>()
  #timer: Timer | undefined
  #stopped = false

  constructor(options: PickupOptions) {
    this.#options = options
    this.#maildrop = join(options.queue, maildropDirectory)
    this.#taken = join(options.queue, takenDirectory)
    this.#clock = options.clock ?? systemClock
  }

  /** Looks now and every few seconds, one look at a time. */
  async run(): Promise<void> {
    await this.look().catch(this.#options.onTrouble)
    if (!this.#stopped) this.#timer = this.#clock.after(lookMs, () => void this.run())
  }

  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
  }

  /** Takes up all that is there, first what an earlier look, or life, has begun with.
   * @throws the system's error */
  async look(): Promise<void> {
    await this.#takeAll(this.#taken)
    await this.#takeAll(this.#maildrop)
  }

  async #takeAll(from: string): Promise<void> {
    const names = (await namesIn(from)).filter((name) => !this.#passedOver.has(name))
    for (let next = 0; next < names.length && !this.#stopped;) {
      const taken: Taken[] = []
      let bytes = 0
      while (next < names.length && taken.length < batchMax && bytes < batchBytesMax) {
        const one = await this.#moved(from, names[next++]!)
        if (one === undefined) continue
        taken.push(one)
        bytes += one.mail.data.length
      }
      if (taken.length === 0) continue
      await this.#sync()
      await Promise.all(taken.map((one) => this.#take(one)))
      await this.#sync()
    }
  }

  /** @returns undefined when it is not complete, or no message */
  async #moved(from: string, name: string): Promise<Taken | undefined> {
    const path = join(from, name)
    try {
      const mail = await readDropped(path, this.#options.sizeBytesMax)
      if (mail === undefined) return undefined
      await rename(path, join(this.#taken, name))
      return { name, mail }
    } catch (error) {
      // What the system refuses may go better later.
      if (isWaybillError(error) && !passing.has(error.code)) await this.#refuse(path, error)
      else this.#options.onTrouble(error)
      return undefined
    }
  }

  async #take({ name, mail }: Taken): Promise<void> {
    const path = join(this.#taken, name)
    const id = idOfName(name)!
    if (!this.#durable.has(id)) {
      try {
        await this.#submitJudged({ name, mail }, id)
      } catch (error) {
        return isFinal(error) ? await this.#refuse(path, error) : this.#options.onTrouble(error)
      }
      this.#reported.delete(id)
      this.#durable.add(id)
    }
    try {
      await rm(path, { force: true })
      this.#durable.delete(id)
    } catch (error) {
      this.#options.onTrouble(error)
    }
  }

  /** It stays in `maildrop/`, under a name that says so, and is not looked at again. */
  async #refuse(path: string, error: unknown): Promise<void> {
    const { onRefusal, onTrouble } = this.#options
    onRefusal(path, error)
    try {
      await rename(path, join(this.#maildrop, refusedName(basename(path))))
    } catch (trouble) {
      this.#passedOver.add(basename(path))
      onTrouble(trouble)
    }
  }

  /** Submits what is accepted, and a report of what is refused. The file's id goes to one message:
   * that for the accepted recipients, else the report. So it says durably that all is done.
   *    1. the report beside a message is durable
   *    2. the relay is killed before the message is
   *    3. the next life submits both; the report's key says that it is there */
  async #submitJudged({ name, mail }: Taken, id: MessageId): Promise<void> {
    const { port, hostname = machineName(), tables = noTables, sizeBytesMax } = this.#options
    const { recipientCountMax } = port.limits
    const found = checkedRecipients(mail, { hostname, tables: tables(), sizeBytesMax, recipientCountMax })
    const { recipients, refused } = found
    if (recipients.length === 0) return this.#submitReport(id, mail, refused)
    const reported = this.#reported.get(id)
    const news = refused.filter(({ address }) => reported?.has(address) !== true)
    if (news.length > 0) {
      if (this.#mayReport(mail)) await this.#submitReport(id, mail, news, reportKey(id, news))
      else await this.#keep(name, unreported(news))
      this.#reported.set(id, new Set([...(reported ?? []), ...news.map(({ address }) => address)]))
    }
    try {
      await this.#submit(id, mail, recipients)
    } catch (error) {
      if (!isWaybillError(error) || !isFinal(error)) throw error
      const words = `${error.reply.enhanced} ${error.message}`
      const others = new Set(refused.map(({ address }) => address))
      const named = mail.recipients.filter((recipient) => !others.has(recipient))
      await this.#submitReport(id, mail, refusedFor(named, words))
    }
  }

  async #submit(id: MessageId, mail: FoundMail, recipients: CheckedRecipients['recipients']): Promise<void> {
    const { port, hostname = machineName() } = this.#options
    checkHeader(mail.data)
    const received = `Received: by ${hostname} (Waybill, from userid ${mail.uid}) id ${id};\r\n\t${dateText(this.#clock.wallMs())}\r\n`
    const submission = {
      sender: this.#senderOf(mail),
      recipients,
      data: this.#shown(Buffer.concat([Buffer.from(received), mail.data]), received.length, id, mail),
      smtputf8: false,
      longLines: true,
      id,
      dsn: mail.dsn,
    }
    const trace = { session: `maildrop.${id}`, ...messageIdOf(mail.data) }
    await port.submit(submission, clientOf(mail), trace)
  }

  /** @param key of a report beside a message, which has a separate id; else it has the file's
   * @throws WaybillError ADDRESS_INVALID when the sender gets no report */
  async #submitReport(
    id: MessageId,
    mail: FoundMail,
    refused: readonly RefusedRecipient[],
    key?: string,
  ): Promise<void> {
    const { port, hostname = machineName(), tables = noTables, onReported } = this.#options
    if (!this.#mayReport(mail)) throw unreported(refused)
    const sender = this.#senderOf(mail)
    const report = key === undefined ? id : newMessageId()
    const reportingMta = isReportingMta(hostname) ? hostname : 'localhost'
    const data = await composeReport({
      id: report,
      originalId: id,
      originalSender: sender,
      recipients: refused.map((one) => ({ ...one, action: 'failed' })),
      acceptedAtMs: mail.leftAtMs,
      nowMs: this.#clock.wallMs(),
      reportingMta,
      author: this.#shownSender(`MAILER-DAEMON@${reportingMta}`),
      data: mail.data,
      dataBytes: mail.dataBytes,
      smtputf8: isInternational(sender),
      envid: mail.dsn.id,
      returnsFull: mail.dsn.return === 'full',
    })
    const { aliases } = tables()
    const became = [...((aliases && expanded(aliases, sender))?.values() ?? [])].slice(0, reportRecipientsMax)
    const submission = {
      sender: '',
      recipients: became.length === 0 ? [sender] : became,
      data,
      smtputf8: false,
      longLines: true,
      id: report,
      dsn: undefined,
      ...(key === undefined ? undefined : { idempotencyKey: key }),
    }
    await port.submit(submission, clientOf(mail), { session: `maildrop.${id}`, ...messageIdOf(data) })
    onReported(id, refused)
  }

  #mayReport(mail: FoundMail): boolean {
    const { notify } = mail.dsn
    const isAsked = notify === undefined || (notify !== 'never' && notify.includes('failure'))
    return isAsked && reportDecision(this.#senderOf(mail), 1).kind === 'report'
  }

  #senderOf({ sender }: FoundMail): string {
    return this.#shownSender(plainAddress(sender, this.#options.hostname ?? machineName()))
  }

  #shownSender(address: string): string {
    const { senders } = (this.#options.tables ?? noTables)()
    return senders === undefined ? address : shownSender(senders, address)
  }

  /** With the senders of its header as the world knows them. */
  #shown(data: Buffer, prefixBytes: number, unique: string, mail: FoundMail): Buffer {
    const { hostname = machineName(), tables = noTables } = this.#options
    if (tables().senders === undefined) return data
    const shown = (address: string): string => this.#shownSender(address)
    const sender = this.#senderOf(mail)
    return completed(data, prefixBytes, { sender, unique, hostname, atMs: mail.leftAtMs, shown })
  }

  /** Keeps a copy of a file, some of whose recipients are refused and are not reported. */
  async #keep(name: string, error: unknown): Promise<void> {
    const path = join(this.#maildrop, refusedName(name))
    this.#options.onRefusal(path, error)
    // No user can write where it is made: one who knows the name could have a link there already,
    // and have any file of the relay written over.
    const copied = join(this.#taken, `${name}.copy`)
    try {
      await rm(copied, { force: true })
      await copyFile(join(this.#taken, name), copied, constants.COPYFILE_EXCL)
      const copy = await open(copied)
      await copy.sync().finally(() => copy.close())
      await rename(copied, path)
      await this.#sync()
    } catch (trouble) {
      throw diskFailure('write', path, errnoOf(trouble), trouble)
    }
  }

  /** Where a file is now before where it was. */
  async #sync(): Promise<void> {
    await syncDirectory(this.#taken)
    await syncDirectory(this.#maildrop)
  }
}

const noTables = (): PickupTables => ({})

/** The same refusals are reported once, and others that a table came to have later are, too:
 *    1. a report is durable, and the message has no room
 *    2. a reload refuses one recipient more
 *    3. that one is neither in the message nor in the report */
function reportKey(id: MessageId, refused: readonly RefusedRecipient[]): string {
  const addresses = refused.map(({ address }) => address).sort()
  const digest = createHash('sha256').update(JSON.stringify(addresses)).digest('hex')
  return `maildrop.${id}.${digest.slice(0, 16)}`
}

const refusedName = (name: string): string => `${basename(name, extname(name))}.refused`

const clientOf = ({ uid }: FoundMail): { address: string; helo: string } => ({
  address: 'maildrop',
  helo: `userid ${uid}`,
})

/** The same submission would be refused again. */
const isFinal = (error: unknown): boolean => !isWaybillError(error) || !passing.has(error.code)

const unreported = (refused: readonly RefusedRecipient[]): WaybillError => {
  const all = refused.map(({ address, status, reason }) => `${address}: ${status} ${reason}`)
  return new WaybillError(
    'ADDRESS_INVALID',
    `refused, and its sender gets no report: ${all.slice(0, 20).join(', ')}`,
  )
}
