/** Local delivery: a Maildir for each recipient, `DIRECTORY/<address>/{tmp,new,cur}`.
 * Invariant: a message is in `new` whole or not at all, and durable before it counts as delivered:
 * written to `tmp`, synced, renamed, the directory synced. Its name is the time of acceptance and
 * the message's id, so an attempt repeated after a crash writes the same file again. README.md in
 * this folder has the crash stories: why a repeated attempt looks into `cur`, and writes over a
 * file in `new`. */
import { createHash } from 'node:crypto'
import { open, readdir, rename, stat, unlink, type FileHandle } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { assert } from '../../base/assert.js'
import { systemClock, type Clock } from '../../base/clock.js'
import { leadingFields } from '../../base/header.js'
import { withoutNeedlessQuotes } from '../../base/mail-address.js'
import { addressOfOrcpt } from '../../base/notification.js'
import { checkOptionNames } from '../../base/options.js'
import type { DeliveryRequest, DeliveryResult, Outcome, Transport } from '../../delivery/transport.js'
import { errnoOf } from '../../disk/failure.js'
import { madeDirectory } from '../../disk/names.js'
import { syncDirectory as syncNow } from '../../disk/sync-directory.js'
import { WaybillError } from '../../errors.js'
import { areDelimiters, delimitersWanted, splitAddress } from '../tables/address-extension.js'
import { syncTurns } from './sync-turns.js'

/** Mailboxes written at the same time for one message. */
const writesMax = 8
/** Mailboxes that are remembered to be there. */
const madeMailboxesMax = 10_000
/** Files that are remembered, with those they were delivered to. */
const putsMax = 1000
/** Data over this is written as a stream, bytes. */
const streamedBytesMin = 1 << 20

/** How far the wall clock may step back without hiding that a message is older than this
 * process. */
const clockStepMs = 5000

export interface MaildirOptions {
  /** Where the mailboxes are; made when it is not there. */
  readonly directory: string
  /** Last part of file names; default: the machine's name. */
  readonly hostname?: string | undefined
  /** Delimiters of extensions: mail for `ada+lists@example.com` goes to the mailbox of
   * `ada@example.com` unless it has a separate one. Some of + - _ = . and similar ones. Default:
   * none.
   * @see Postfix recipient_delimiter */
  readonly recipientDelimiter?: string | undefined
  readonly clock?: Clock | undefined
}

/** Nobody but this transport may write a name of its form. Data is kept as accepted: with the CRLF
 * of SMTP, readers take both.
 * @throws WaybillError OPTION_INVALID */
export function maildirTransport(options: MaildirOptions): Transport {
  const maildirs = new Maildirs(options)
  return { deliver: (request) => maildirs.deliver(request) }
}

/** A file of this life, written or being written. */
interface Put {
  /** Of all recipients so far. */
  readonly fields: string
  readonly outcome: Promise<Outcome>
  isUnderWay: boolean
}

class Maildirs {
  readonly #directory: string
  readonly #recipientDelimiter: string
  readonly #host: string
  readonly #openedAtMs: number
  /** Each mailbox whose name is durable, or will be: a delivery waits for that. */
  readonly #made = new Map<string, Promise<void>>()
  #root: Promise<void> | undefined
  /** By path, oldest first. */
  readonly #puts = new Map<string, Put>()

  /** @throws WaybillError OPTION_INVALID */
  constructor(options: MaildirOptions) {
    checkOptionNames(options, { directory: true, hostname: true, recipientDelimiter: true, clock: true })
    if (typeof options.directory !== 'string' || options.directory === '')
      throw new WaybillError('OPTION_INVALID', 'mailboxes are made in a directory', { option: 'directory' })
    const { recipientDelimiter = '' } = options
    if (options.recipientDelimiter !== undefined && !areDelimiters(recipientDelimiter))
      throw new WaybillError('OPTION_INVALID', `expected ${delimitersWanted}`, {
        option: 'recipientDelimiter',
      })
    this.#directory = resolve(options.directory)
    this.#recipientDelimiter = recipientDelimiter
    this.#host = (options.hostname ?? hostname()).replace(/[^\w.-]/g, '-') || 'localhost'
    this.#openedAtMs = (options.clock ?? systemClock).wallMs()
  }

  async deliver(request: DeliveryRequest): Promise<DeliveryResult> {
    const data = request.dataBytes > streamedBytesMin ? undefined : await request.data()
    if (data !== undefined && !Buffer.isBuffer(data)) {
      return { kind: 'deferred', status: '4.3.5', reason: 'this transport cannot fetch data kept elsewhere' }
    }
    const file = `${Math.floor(request.acceptedAt / 1000)}.${request.id.replace(/[^\w-]/g, '-')}.${this.#host}`
    // Two spellings of one address are one mailbox, and one copy, and so are two extensions.
    const fields = new Map<string, string>()
    const names = await Promise.all(request.recipients.map((recipient) => this.#mailboxOf(recipient)))
    for (const [i, name] of names.entries())
      fields.set(name, (fields.get(name) ?? '') + recipientFields(request, i))
    const outcomes = new Map<string, Outcome>()
    const left = [...fields]
    const worker = async (): Promise<void> => {
      for (let next = left.pop(); next !== undefined; next = left.pop()) {
        outcomes.set(next[0], await this.#put(next[0], file, request, next[1], data))
      }
    }
    await Promise.all(Array.from({ length: Math.min(writesMax, left.length) }, worker))
    return names.map((name) => {
      const outcome = outcomes.get(name)
      assert(outcome !== undefined, 'every mailbox was written to')
      return outcome
    })
  }

  /** Its own, where somebody has made one, or the one without the extension. */
  async #mailboxOf(recipient: string): Promise<string> {
    const own = mailboxName(recipient)
    const bare = splitAddress(recipient, this.#recipientDelimiter)?.bare
    if (bare === undefined) return own
    return stat(join(this.#directory, own)).then(
      () => own,
      // Where the device refuses to say, nothing can be written either.
      (error: unknown) => (errnoOf(error) === 'ENOENT' ? mailboxName(bare) : own),
    )
  }

  /** Recipients of one mailbox may come in different deliveries: the mailbox has one copy, which
   * names all of them. */
  async #put(
    mailbox: string,
    file: string,
    request: DeliveryRequest,
    fields: string,
    data: Buffer | undefined,
  ): Promise<Outcome> {
    const path = join(mailbox, file)
    const before = this.#puts.get(path)
    const isKnown = before?.fields.includes(fields) === true
    // An attempt that was given up may still be at it.
    if (before?.isUnderWay === true && isKnown)
      return { kind: 'deferred', status: '4.3.0', reason: 'an earlier attempt is still writing' }
    const all = isKnown ? before.fields : `${before?.fields ?? ''}${fields}`
    const write = (): Promise<Outcome> =>
      this.#write(mailbox, file, request, all, data, before !== undefined || this.#mayRepeat(request))
    const outcome = before === undefined ? write() : before.outcome.then(write, write)
    const put: Put = { fields: all, outcome, isUnderWay: true }
    this.#remember(path, put)
    try {
      return await outcome
    } finally {
      put.isUnderWay = false
    }
  }

  #remember(path: string, put: Put): void {
    this.#puts.delete(path)
    this.#puts.set(path, put)
    for (const [oldest, { isUnderWay }] of this.#puts) {
      if (this.#puts.size <= putsMax || isUnderWay) return
      this.#puts.delete(oldest)
    }
  }

  async #write(
    mailbox: string,
    file: string,
    request: DeliveryRequest,
    fields: string,
    data: Buffer | undefined,
    mayRepeat: boolean,
  ): Promise<Outcome> {
    const directory = join(this.#directory, mailbox)
    const temporary = join(directory, 'tmp', file)
    const target = join(directory, 'new', file)
    const response = `maildir ${mailbox}/new/${file}`
    try {
      await this.#madeMailbox(mailbox)
      if (mayRepeat && (await isTaken(directory, file))) return { kind: 'delivered', response }
      const header = Buffer.from(`Return-Path: <${request.sender}>\r\n${fields}`)
      await write(temporary, header, data ?? request)
      await rename(temporary, target)
      await syncDirectory(join(directory, 'new'))
      return { kind: 'delivered', response }
    } catch (error) {
      // Perhaps somebody removed the mailbox under us: the next attempt makes it again.
      this.#made.delete(mailbox)
      this.#root = undefined
      await unlink(temporary).catch(() => undefined)
      return outcomeOf(error)
    }
  }

  #madeMailbox(mailbox: string): Promise<void> {
    let mailboxMade = this.#made.get(mailbox)
    if (mailboxMade === undefined) {
      if (this.#made.size >= madeMailboxesMax) this.#made.clear()
      this.#root ??= makeRoot(this.#directory)
      mailboxMade = this.#root.then(() => makeMailbox(this.#directory, mailbox))
      this.#made.set(mailbox, mailboxMade)
    }
    return mailboxMade
  }

  /** An earlier attempt may have put the message there: one of this life, or of a life
   * before this one. */
  #mayRepeat({ attempts, acceptedAt }: DeliveryRequest): boolean {
    return attempts > 0 || acceptedAt <= this.#openedAtMs + clockStepMs
  }
}

/** The original recipient (an alias, ORCPT) if it is another one, and the owner of the mailbox.
 * @see Postfix virtual(8) */
function recipientFields({ recipients, dsn }: DeliveryRequest, index: number): string {
  const recipient = recipients[index]!
  const orcpt = dsn?.recipients[index]?.orcpt
  const original = orcpt === undefined ? recipient : addressOfOrcpt(orcpt)
  return `${original === recipient ? '' : `X-Original-To: ${original}\r\n`}Delivered-To: ${recipient}\r\n`
}

/** Names made by an earlier life may not be durable yet, so each life syncs them once. */
async function makeRoot(directory: string): Promise<void> {
  const root = resolve(directory)
  await madeDirectory(root, 0o755)
  for (let path = root; path !== dirname(path); path = dirname(path)) {
    await syncDirectory(dirname(path)).catch((error: unknown) => {
      // A parent that we may not read was not made by us.
      if (errnoOf(error) !== 'EACCES') throw error
    })
  }
}

async function makeMailbox(root: string, mailbox: string): Promise<void> {
  for (const name of ['tmp', 'new', 'cur']) {
    await madeDirectory(join(root, mailbox, name), 0o700)
  }
  await syncDirectory(join(root, mailbox))
  await syncDirectory(root)
}

/** Delivered by an attempt whose outcome was lost, and taken by a mail reader. That appends its
 * flags to the name, and syncs nothing:
 *    1. renamed, killed before the sync
 *    2. a reader moves it
 *    3. found in `cur`, and recorded
 *    4. power loss: it is in `tmp` again */
async function isTaken(directory: string, file: string): Promise<boolean> {
  const taken = await readdir(join(directory, 'cur'))
  if (!taken.some((name) => name === file || name.startsWith(`${file}:`))) return false
  await syncDirectory(join(directory, 'cur'))
  return true
}

async function write(path: string, header: Buffer, data: Buffer | DeliveryRequest): Promise<void> {
  const handle = await open(path, 'w', 0o600)
  try {
    if (Buffer.isBuffer(data))
      await writeAll(handle, Buffer.concat([header, ...withoutReturnPath(data, true)]))
    else {
      await writeAll(handle, header)
      let isFirst = true
      for await (const chunk of data.stream()) {
        const pieces = isFirst ? withoutReturnPath(chunk as Buffer, false) : [chunk as Buffer]
        for (const piece of pieces) await writeAll(handle, piece)
        isFirst = false
      }
    }
    await syncTurns.inTurn(() => handle.datasync())
  } finally {
    await handle.close()
  }
}

/** Programs take any such field for the sender of the envelope: the mailbox has ours alone.
 * @param beginning the message, or its first piece, which nearly always has the whole header
 * @see RFC 5321 §4.4 */
function withoutReturnPath(beginning: Buffer, isWhole: boolean): readonly Buffer[] {
  const { fields, isCut } = leadingFields(beginning)
  const kept: Buffer[] = []
  let from = 0
  for (const { name, start, end } of fields) {
    // Of a field that goes on behind the piece a half would be left.
    if (name !== 'return-path' || (!isWhole && isCut && end === beginning.length)) continue
    kept.push(beginning.subarray(from, start))
    from = end
  }
  return kept.length === 0 ? [beginning] : [...kept, beginning.subarray(from)]
}

const syncDirectory = (path: string): Promise<void> => syncNow(path, (sync) => syncTurns.inTurn(sync))

async function writeAll(handle: FileHandle, bytes: Buffer): Promise<void> {
  let doneBytes = 0
  while (doneBytes < bytes.length) {
    const { bytesWritten } = await handle.write(bytes, doneBytes, bytes.length - doneBytes)
    doneBytes += bytesWritten
  }
}

/** Nothing about a disk is the recipient's fault: it is tried again.
 * @throws what is not the system's error: corrupt data, a bug */
function outcomeOf(error: unknown): Outcome {
  const errno = errnoOf(error)
  if (errno === undefined) throw error
  const status = errno === 'ENOSPC' ? '4.3.1' : errno === 'EDQUOT' ? '4.2.2' : '4.3.0'
  return { kind: 'deferred', status, reason: (error as Error).message }
}

const nameBytesMax = 255
const plain = /^[a-z0-9_@+=-][a-z0-9._@+=-]*$/

/** The directory of an address's Maildir: one path component that every file system takes, without
 * separators, a leading dot or control characters, in one case, of at most 255 bytes. Different
 * addresses have different names, except for case, a final dot and needless quotes, which do not
 * matter. */
export function mailboxName(recipient: string): string {
  const folded = withoutNeedlessQuotes(recipient).normalize('NFC').toLowerCase().replace(/\.$/, '')
  if (plain.test(folded) && folded.length <= nameBytesMax) return folded
  let name = ''
  for (const byte of Buffer.from(folded)) {
    const char = String.fromCharCode(byte)
    const keeps = byte < 0x80 && plain.test(name === '' ? char : `a${char}`)
    name += keeps ? char : `%${byte.toString(16).padStart(2, '0')}`
  }
  if (name.length <= nameBytesMax) return name
  // `~` is never kept, so that no other address has this name.
  const hash = createHash('sha256').update(folded).digest('hex')
  return `${name.slice(0, nameBytesMax - hash.length - 1)}~${hash}`
}
