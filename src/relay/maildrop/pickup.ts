/** Takes up what programs have left in a queue's `maildrop/` (README.md).
 * Invariant: a file is removed only when its message is durable in the queue, and a message is
 * submitted only from a file whose name says durably that it is being taken up. So a file of
 * that name is the only one of which a later life must ask whether the queue has it. */
import { open, readdir, rename, rm } from 'node:fs/promises'
import { hostname as machineName } from 'node:os'
import { join } from 'node:path'
import type { SMTPServerAddress, SMTPServerSession } from 'smtp-server'
import { systemClock, type Clock, type Timer } from '../../base/clock.js'
import type { MessageId } from '../../base/message-id.js'
import { errnoOf } from '../../disk/failure.js'
import { isWaybillError, WaybillError } from '../../errors.js'
import { ExpandedRecipients } from '../smtp-in/expanded-recipients.js'
import { dateText, messageIdOf } from '../smtp-in/received.js'
import { plainAddress, type SubmitPort } from '../smtp-in/smtp-handlers.js'
import type { Aliases } from '../tables/aliases.js'
import { idOfName, maildropDirectory, namePattern, readDropped } from './maildrop-file.js'

export interface PickupOptions {
  /** The queue's directory. */
  readonly queue: string
  readonly port: SubmitPort
  /** Largest message, bytes. */
  readonly sizeBytesMax: number
  readonly hostname?: string
  readonly aliases?: () => Aliases | undefined
  /** Messages, of files that were being taken up, that the queue has or had. */
  readonly known: ReadonlySet<MessageId>
  /** Of a file that the queue refuses for good, or that cannot be read; it is not looked at again
   * in this life. */
  readonly onRefusal: (path: string, error: unknown) => void
  /** Of what may go better next time. */
  readonly onTrouble: (error: unknown) => void
  readonly clock?: Clock
}

/** Between two looks, milliseconds. */
const lookMs = 5000
/** Files taken up together. */
const batchMax = 50

/** What ends a submission now, and may not later. */
const passing: ReadonlySet<string> = new Set(['DISK_FULL', 'DISK_FAILED', 'QUEUE_CRASHED', 'SUBMIT_ABORTED'])

/** A file that is being taken up. */
interface Taken {
  readonly name: string
  readonly mail: NonNullable<Awaited<ReturnType<typeof readDropped>>>
}

export class Pickup {
  readonly #options: PickupOptions
  readonly #directory: string
  readonly #clock: Clock
  readonly #passedOver = new Set<string>()
  readonly #known: Set<MessageId>
  #timer: Timer | undefined
  #stopped = false

  constructor(options: PickupOptions) {
    this.#options = options
    this.#known = new Set(options.known)
    this.#directory = join(options.queue, maildropDirectory)
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

  /** Takes up all that is there. @throws the system's error */
  async look(): Promise<void> {
    const names = await this.#names()
    for (let from = 0; from < names.length && !this.#stopped; from += batchMax) {
      const taken: Taken[] = []
      for (const name of names.slice(from, from + batchMax)) {
        const took = await this.#renamed(name)
        if (took !== undefined) taken.push(took)
      }
      if (taken.length === 0) continue
      await this.#sync()
      await Promise.all(taken.map((one) => this.#take(one)))
      await this.#sync()
    }
  }

  /** Those that are complete, or were being taken up, as far as they are not passed over. */
  async #names(): Promise<string[]> {
    const names = await readdir(this.#directory).catch((error: unknown) => {
      if (errnoOf(error) === 'ENOENT') return []
      throw error
    })
    return names.filter((name) => {
      const kind = namePattern.exec(name)?.[2]
      return (kind === 'mail' || kind === 'taking') && !this.#passedOver.has(stemOf(name))
    })
  }

  /** @returns undefined when it is not complete, or no message */
  async #renamed(name: string): Promise<Taken | undefined> {
    const { onRefusal, sizeBytesMax } = this.#options
    const path = join(this.#directory, name)
    const taking = `${stemOf(name)}.taking`
    try {
      const mail = await readDropped(path, sizeBytesMax)
      if (mail === undefined) return undefined
      await rename(path, join(this.#directory, taking))
      return { name: taking, mail }
    } catch (error) {
      this.#passedOver.add(stemOf(name))
      onRefusal(path, error)
      return undefined
    }
  }

  async #take({ name, mail }: Taken): Promise<void> {
    const { onRefusal, onTrouble } = this.#options
    const path = join(this.#directory, name)
    const id = idOfName(name)!
    try {
      if (!this.#known.has(id)) {
        await this.#submit(id, mail)
        // Should its file not go, it is not taken twice.
        this.#known.add(id)
      }
      await rm(path, { force: true })
      this.#known.delete(id)
    } catch (error) {
      if (isWaybillError(error) && passing.has(error.code)) return onTrouble(error)
      this.#passedOver.add(stemOf(name))
      onRefusal(path, error)
      await rename(path, join(this.#directory, `${stemOf(name)}.refused`))
    }
  }

  async #submit(id: MessageId, mail: Taken['mail']): Promise<void> {
    const { port, hostname = machineName() } = this.#options
    const received = `Received: by ${hostname} (Waybill, from userid ${mail.uid}) id ${id};\r\n\t${dateText(this.#clock.wallMs())}\r\n`
    const submission = {
      sender: mail.sender,
      recipients: this.#expanded(mail.recipients, hostname),
      data: Buffer.concat([Buffer.from(received), mail.data]),
      smtputf8: false,
      longLines: true,
      id,
      dsn: mail.dsn,
    }
    const trace = { session: `maildrop.${id}`, ...messageIdOf(mail.data) }
    await port.submit(submission, { address: 'maildrop', helo: `userid ${mail.uid}` }, trace)
  }

  /** As a client's RCPT would be. @throws WaybillError RECIPIENTS_TOO_MANY */
  #expanded(named: readonly string[], hostname: string): ReturnType<ExpandedRecipients['of']> {
    const { aliases, port } = this.#options
    const table = aliases?.()
    const plain = named.map((recipient) => plainAddress(recipient, hostname))
    if (table === undefined) return plain
    const recipients = new ExpandedRecipients()
    const session = { envelope: {} } as Pick<SMTPServerSession, 'envelope'>
    const rcptTo = plain.map((address) => ({ address }) as SMTPServerAddress)
    for (const [i, address] of rcptTo.entries()) {
      const countMax = port.limits.recipientCountMax
      const refusal = recipients.take(address, plain[i]!, session, { aliases: table, countMax })
      if (refusal !== null)
        throw new WaybillError('RECIPIENTS_TOO_MANY', refusal.message, { recipient: plain[i]! })
    }
    return recipients.of(rcptTo, plain)
  }

  async #sync(): Promise<void> {
    const directory = await open(this.#directory)
    try {
      await directory.sync()
    } finally {
      await directory.close()
    }
  }
}

const stemOf = (name: string): string => name.slice(0, name.lastIndexOf('.'))
