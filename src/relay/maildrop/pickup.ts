/** Takes up what programs have left in a queue's `maildrop/` (README.md).
 * Invariant: a file is removed only when its message is durable in the queue, and a message is
 * submitted only when its file lies durably in `taken/`. So the files there are the only ones
 * of which the next life must ask whether the queue has their messages (remove-durable.ts). */
import { rename, rm } from 'node:fs/promises'
import { hostname as machineName } from 'node:os'
import { basename, extname, join } from 'node:path'
import { systemClock, type Clock, type Timer } from '../../base/clock.js'
import type { MessageId } from '../../base/message-id.js'
import { syncDirectory } from '../../disk/sync-directory.js'
import { isWaybillError } from '../../errors.js'
import { expandedAll } from '../smtp-in/expanded-recipients.js'
import { dateText, messageIdOf } from '../smtp-in/received.js'
import { plainAddress, type SubmitPort } from '../smtp-in/smtp-handlers.js'
import type { Aliases } from '../tables/aliases.js'
import { idOfName, maildropDirectory, namesIn, readDropped, takenDirectory } from './maildrop-file.js'

export interface PickupOptions {
  /** The queue's directory. */
  readonly queue: string
  readonly port: SubmitPort
  /** Largest message, bytes. */
  readonly sizeBytesMax: number
  readonly hostname?: string
  readonly aliases?: () => Aliases | undefined
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
  readonly mail: NonNullable<Awaited<ReturnType<typeof readDropped>>>
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
        await this.#submit(id, mail)
      } catch (error) {
        const isPassing = isWaybillError(error) && passing.has(error.code)
        return isPassing ? this.#options.onTrouble(error) : await this.#refuse(path, error)
      }
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
      await rename(path, join(this.#maildrop, `${basename(path, extname(path))}.refused`))
    } catch (trouble) {
      this.#passedOver.add(basename(path))
      onTrouble(trouble)
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
  #expanded(named: readonly string[], hostname: string): ReturnType<typeof expandedAll> {
    const { aliases, port } = this.#options
    const table = aliases?.()
    const plain = named.map((recipient) => plainAddress(recipient, hostname))
    return table === undefined ? plain : expandedAll(plain, table, port.limits.recipientCountMax)
  }

  /** Where a file is now before where it was. */
  async #sync(): Promise<void> {
    await syncDirectory(this.#taken)
    await syncDirectory(this.#maildrop)
  }
}
