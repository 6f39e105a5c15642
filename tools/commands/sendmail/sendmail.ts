/** `waybill sendmail`: submits a message from standard input.
 * Invariant: it exits with 0 only when the message is durable in a queue for every recipient; 75
 * means "try again".
 * With `--smtp` the message goes to that server. Otherwise it goes by SMTP to the relay that has
 * the queue open. Where none answers, it waits for the next one in `maildrop/`, or in a queue that
 * no relay has served yet. */
import { randomBytes } from 'node:crypto'
import { createReadStream, fstatSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { hostname as machineName, userInfo } from 'node:os'
import { isMailAddress, quotedAddress, withoutFinalDot } from '../../../src/base/mail-address.js'
import { countText } from '../../../src/base/text.js'
import type { DeliveryResult, Queue } from '../../../src/index.js'
import { badAddress, isReadable } from '../../../src/relay/parameters/readable-address.js'
import { checkHeader } from '../../../src/relay/smtp-in/completed-header.js'
import { distinctMailboxes } from '../../../src/relay/tables/address-pattern.js'
import { isStoreUrl } from '../../../src/store/is-store-url.js'
import { lineOf, UsageError, type Arguments, type Command, type Option } from '../cli/command.js'
import { addressesIn, qualifiedField } from '../../../src/relay/mime/header-addresses.js'
import { messageOf, recipientsOf, unixLines } from './message.js'
import { namingHint, queueHelp, queuePathOf, queueVariable } from '../cli/queue-path.js'
import { askedBy } from './dsn.js'
import { connectRelay } from '../cli/relay-socket.js'
import { connected, sessionOver, sessionWith } from './stdio-session.js'
import {
  isUnreachable,
  leftInMaildrop,
  mayBeQueue,
  overSmtp,
  withQueue,
  withQueueNow,
  type Mail,
} from './submitting.js'
import { complaint } from '../text/shown-text.js'
import { sysexitOfError, sysexitOfResult, sysexits } from './sysexits.js'
import { formatEndpoint, parseBytes, parseEndpoint, parseWord, type Endpoint } from '../cli/values.js'

const modes = ['m', 's', 'p', 'i'] as const

/** Options of other sendmails that have no effect here. */
const ignoredOptions: Readonly<Record<string, Option>> = Object.fromEntries(
  [
    ['B', 'TYPE', 'ignored: bytes are kept as they are'],
    ['A', 'MODE', 'ignored'],
    ['C', 'FILE', 'ignored'],
    ['O', 'OPTION', 'ignored'],
    ['X', 'FILE', 'ignored, except for -XV, which is refused: each recipient would need a sender (VERP)'],
    ['p', 'PROTOCOL', 'ignored'],
    ['e', 'MODE', 'ignored: the exit code reports errors'],
    ['h', 'HOPS', 'ignored'],
    ['L', 'TAG', 'ignored'],
    ['n', undefined, 'ignored: aliases are for the relay to look up'],
    ['m', undefined, 'ignored'],
    ['U', undefined, 'ignored'],
    ['c', undefined, 'ignored'],
    ['x', undefined, 'ignored'],
    ['G', undefined, 'ignored'],
  ].map(([name, value, help]) => [
    name,
    { short: name, help, many: true, ...(value === undefined ? undefined : { value }) },
  ]),
) as Readonly<Record<string, Option>>

export const sendmail: Command = {
  synopsis:
    '[-f SENDER] [-F NAME] [-t] [-i] [-v] [-bs | -bp | -q] [--queue DIR | --smtp HOST:PORT] [OPTION …] [RECIPIENT …]',
  operands: true,
  options: {
    f: {
      short: 'f',
      value: 'SENDER',
      many: true,
      help: 'envelope sender; `<>` is the null sender; the last one counts (you)',
    },
    F: { short: 'F', value: 'NAME', many: true, help: 'your name, for a message without a From field' },
    t: { short: 't', help: 'send to the addresses of To, Cc and Bcc as well; Bcc is removed' },
    i: { short: 'i', help: 'a line with a single dot does not end the message (also -oi)' },
    origin: {
      value: 'DOMAIN',
      help: "the domain of addresses without one, in the header, too\n(what /etc/mailname says, or the machine's name)",
    },
    queue: { value: 'DIR', help: queueHelp },
    create: { help: 'make the queue if there is none; without it that is an error' },
    smtp: { value: 'HOST:PORT', help: 'submit to this server instead' },
    'size-limit': { value: 'BYTES', help: 'largest message (50M)' },
    b: {
      short: 'b',
      value: 'MODE',
      words: modes,
      help: '-bm, the default; -bs speaks SMTP on standard input and output; -bp lists the queue, as mailq;\n-bi only says that aliases are read by `waybill reload`',
    },
    q: {
      short: 'q',
      value: 'WHAT',
      isValueAttached: true,
      help: 'attempt deferred mail now, as `waybill flush` does: all of it, or one message (-qIID), or what goes to a domain\n(-qRDOMAIN)',
    },
    I: { short: 'I', help: 'the same as -bi' },
    v: { short: 'v', help: 'print the fate of the message on standard error' },
    r: { short: 'r', value: 'SENDER', many: true, sameAs: 'f', help: 'the same as -f' },
    N: {
      short: 'N',
      value: 'WHEN',
      many: true,
      help: 'events that are reported to you: never, or some of failure, delay, success\n(failure,delay)',
    },
    R: {
      short: 'R',
      value: 'full|hdrs',
      many: true,
      help: 'the part of the message that a failure returns (hdrs)',
    },
    V: { short: 'V', value: 'ID', many: true, help: 'the name of the message in reports' },
    o: { short: 'o', value: 'OPTION', many: true, help: 'ignored, except for -oi' },
    ...ignoredOptions,
  },
  notes:
    'Exit codes are those of sysexits.h: 0 durable in the queue, 64 usage, 65 data, 75 try again, 78 no such queue, …\n' +
    `Called through a link named sendmail, its queue is /var/lib/waybill/queue by default, or $${queueVariable}.`,
  usageExitCode: sysexits.usage,
  run,
}

interface Settings {
  readonly queue: string
  readonly creates: boolean
  readonly smtp: Endpoint | undefined
  readonly sizeBytesMax: number
  /** With -v, on standard error. */
  readonly tell: (text: string) => void
}

async function run(args: Arguments): Promise<number> {
  if (args.isSet('queue') && args.isSet('smtp')) throw new UsageError('--queue or --smtp, not both')
  const mode = parseWord('b', args.one('b') ?? 'm', modes)
  const flushed = args.one('q')
  //    1. a caller runs `sendmail root -q` with a message
  //    2. the queue is flushed, and the message is not read
  //    3. the caller gets 0, and the message is lost
  if ((mode !== 'm' || flushed !== undefined) && (args.rest.length > 0 || args.isSet('t')))
    throw new UsageError('recipients are for a message: -bs, -bp, -bi and -q take none')
  if ((mode === 'p' || flushed !== undefined) && args.isSet('smtp'))
    throw new UsageError('a queue is listed and flushed where it is, not over --smtp')
  //    1. a list sends with -XV, as by Postfix
  //    2. all recipients have the same sender
  //    3. the list takes reports for replies, and drops no dead subscriber
  if (args.all('X').some((value) => /^V(?:..)?$/.test(value)))
    throw new UsageError('-XV: senders of recipients (VERP) are made by the program that sends')
  const smtpText = args.one('smtp')
  // An owner that is about to resume is not fenced by a message.
  if ((mode === 's' || (mode === 'm' && flushed === undefined)) && smtpText === undefined)
    if (isStoreUrl(queuePathOf(args)))
      throw new UsageError('a queue in a store takes mail by SMTP: --smtp HOST:PORT')
  const settings: Settings = {
    queue: queuePathOf(args),
    creates: args.isSet('create'),
    smtp: smtpText === undefined ? undefined : parseEndpoint('smtp', smtpText, '127.0.0.1', 25),
    sizeBytesMax: parseBytes('size-limit', args.one('size-limit') ?? '50M'),
    tell: args.isSet('v') ? complain : () => undefined,
  }
  // The exit code says what became of the message:
  //    1. the message is durable, and -v cannot write that to a full disk
  //    2. the process ends with 1
  //    3. the caller sends it again
  process.stderr.on('error', () => undefined)
  try {
    if (mode === 'i' || args.isSet('I')) return failed(sysexits.ok, noAliasFile)
    if (mode === 's') return await session(settings)
    if (mode === 'm' && flushed === undefined) return await submission(args, settings)
    const { flushQueue, listQueue } = await import('./queue-modes.js')
    return mode === 'p'
      ? await listQueue(settings.queue)
      : await flushQueue(settings.queue, flushed ?? '', args.isSet('v'))
  } catch (error) {
    if (error instanceof UsageError) throw error
    return failed(sysexitOfError(error), lineOf(error))
  }
}

async function submission(args: Arguments, settings: Settings): Promise<number> {
  const origin = await originOf(args)
  const qualified = (address: string): string =>
    address.includes('@') ? withoutFinalDot(address) : `${address}@${origin}`
  const sender = senderOf(args, qualified)
  const named: string[] = []
  for (const argument of args.rest) {
    const addresses = addressesIn(qualifiedField(`:${argument}`, origin).slice(1))
    if (addresses.length === 0 && argument.trim() !== '')
      return failed(sysexits.usage, `there is no address in '${argument}'`)
    named.push(...addresses)
  }
  const { sizeBytesMax } = settings
  let input: Buffer | undefined
  try {
    input = await standardInput(sizeBytesMax)
  } catch (error) {
    return failed(sysexits.tryAgain, `standard input cannot be read: ${lineOf(error)}`)
  }
  if (input === undefined) return failed(sysexits.data, `the message is longer than ${sizeBytesMax} bytes`)
  const lines = unixLines(input, !args.isSet('i') && !args.all('o').includes('i'))
  const recipients = distinctMailboxes(
    [...named, ...(args.isSet('t') ? recipientsOf(lines, origin) : [])].map(qualified),
  )
  if (recipients.length === 0) return failed(sysexits.usage, 'no recipients')
  const unique = `${Date.now().toString(36)}.${randomBytes(8).toString('hex')}`
  const hostname = [machineName(), origin].find((name) => name.includes('.')) ?? machineName()
  const authorship = { sender, origin, hostname, unique, now: new Date(), name: args.one('F') }
  const data = messageOf(lines, authorship)
  try {
    checkHeader(data)
  } catch (error) {
    return failed(sysexits.data, lineOf(error))
  }
  return handedOver({ sender, recipients, data, dsn: askedBy(args, complain) }, settings)
}

/** The address of -f, which may come with a name. */
function senderOf(args: Arguments, qualified: (address: string) => string): string {
  const given = args.one('f')
  if (given === undefined) return senderOfName(userName(), qualified)
  if (/^\s*(?:<\s*>)?\s*$/.test(given)) return ''
  const [address] = addressesIn(given)
  const sender = address === undefined || address === '' ? undefined : qualified(address)
  return sender !== undefined && isReadable(sender) ? sender : senderOfName(given.trim(), qualified)
}

/** A login name may be anything: `DOM\\ada` is `"DOM\\\\ada"@host`. A name that is no address even
 * when its local part is quoted stays as it is, and is refused. */
function senderOfName(name: string, qualified: (address: string) => string): string {
  const plain = qualified(name)
  if (isReadable(plain)) return plain
  const at = plain.lastIndexOf('@')
  const quoted = quotedAddress(plain.slice(0, at), plain.slice(at + 1))
  return isReadable(quoted) ? quoted : plain
}

/** @throws UsageError */
async function originOf(args: Arguments): Promise<string> {
  const given = args.one('origin')
  if (given !== undefined && !isMailAddress(`x@${given}`))
    throw new UsageError(`--origin takes a domain, not '${given}'`)
  const mailname = await readFile('/etc/mailname', 'utf8').catch(() => '')
  return given ?? (isMailAddress(`x@${mailname.trim()}`) ? mailname.trim() : machineName())
}

/** @throws UsageError in a container without an entry for the user */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    throw new UsageError('this user has no name: give -f SENDER')
  }
}

/** `process.stdin` is empty where it is a directory, or cannot be read.
 * @returns undefined if there is more than `bytesMax` @throws the system's error */
async function standardInput(bytesMax: number): Promise<Buffer | undefined> {
  const stats = fstatSync(0)
  const isOnDisk = stats.isFile() || stats.isDirectory()
  const source = isOnDisk ? createReadStream('', { fd: 0, autoClose: false }) : process.stdin
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of source as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > bytesMax) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

async function handedOver(mail: Mail, settings: Settings): Promise<number> {
  const { queue: directory, smtp, sizeBytesMax, tell } = settings
  if (smtp !== undefined) return judged(await overSmtp(mail, smtp), mail, formatEndpoint(smtp), tell)
  if (!(await isQueueFor(settings))) return failed(sysexits.config, noQueue(directory))
  const done = await withQueueNow(
    directory,
    sizeBytesMax,
    (queue) =>
      withoutRelay(mail, async (good) => {
        const { id } = await queue.submit(good)
        const recipients = countText(good.recipients.length, 'recipient')
        tell(`${id} lies in ${directory} for ${recipients}, until a relay starts`)
      }),
    async (relay) => {
      let first: Socket | undefined = relay
      const connect = async (): Promise<Socket | undefined> => {
        const connection = first ?? (await connectRelay(directory))
        first = undefined
        return connection
      }
      const result = await overSmtp(mail, { connect })
      // No session begins if no recipient has a form in SMTP: the connection would wait for the
      // relay's timeout.
      first?.destroy()
      return isUnreachable(result) ? undefined : judged(result, mail, `the relay of ${directory}`, tell)
    },
  )
  if (done !== undefined) return done
  return withoutRelay(mail, async (good) => {
    const id = await leftInMaildrop(directory, good)
    tell(`${id} lies in ${directory}/maildrop, until a relay starts`)
  })
}

/** Judges the addresses as a relay does, and leaves the message for the good recipients.
 * @returns the exit code, for the worst of the outcomes */
async function withoutRelay(mail: Mail, left: (good: Mail) => Promise<void>): Promise<number> {
  const { sender, recipients } = mail
  if (sender !== '' && !isReadable(sender)) return failed(sysexits.unavailable, refusalText('5.1.7'))
  const good = recipients.filter(isReadable)
  if (good.length > 0) await left({ ...mail, recipients: good })
  for (const recipient of recipients)
    if (!isReadable(recipient)) complain(`${recipient}: ${refusalText('5.1.3')}`)
  return good.length === recipients.length ? sysexits.ok : sysexits.unavailable
}

const refusalText = (status: '5.1.3' | '5.1.7'): string => `501 ${badAddress(status).message}`

/** Prints refused recipients with the server's replies.
 * @returns the exit code, for the worst of the outcomes */
function judged(
  result: DeliveryResult,
  { recipients }: Mail,
  server: string,
  tell: Settings['tell'],
): number {
  const outcomes = 'kind' in result ? [result] : result
  for (const [i, outcome] of outcomes.entries()) {
    if (outcome.kind === 'delivered') continue
    const { status, reason } = outcome
    // A reply mostly has an enhanced status.
    const said = reason.includes(status) ? reason : `${status} ${reason}`
    complain('kind' in result ? said : `${recipients[i]}: ${said}`)
  }
  const exitCode = sysexitOfResult(result)
  if (exitCode === sysexits.ok) tell(`taken by ${server}${answerOf(result)}`)
  return exitCode
}

/** If the server names the id. */
function answerOf(result: DeliveryResult): string {
  const [outcome] = 'kind' in result ? [result] : result
  return outcome?.kind === 'delivered' && outcome.response !== undefined ? `: ${outcome.response}` : ''
}

/** -bs */
async function session(settings: Settings): Promise<number> {
  const { queue: directory, smtp, sizeBytesMax } = settings
  const { stdin, stdout } = process
  const over = async (connection: Socket, hearsEnd = true): Promise<number> => {
    return sessionEnd(await sessionOver(connection, stdin, stdout, hearsEnd))
  }
  if (smtp !== undefined) {
    const connection = await connected(smtp)
    if (connection !== undefined) return over(connection, false)
    return failed(sysexits.tryAgain, `no answer from ${formatEndpoint(smtp)}`)
  }
  if (!(await isQueueFor(settings))) return failed(sysexits.config, noQueue(directory))
  const withOwn = async (queue: Queue): Promise<number> => {
    return sessionEnd(await sessionWith(queue, sizeBytesMax, stdin, stdout))
  }
  return withQueue(directory, sizeBytesMax, withOwn, over)
}

/** A caller that does not read the replies has the exit code. */
const sessionEnd = (isWhole: boolean): number =>
  isWhole ? sysexits.ok : failed(sysexits.tryAgain, 'the session ended within a message: it has no reply')

/** A machine has a file of aliases, and its operator expects that it counts. */
const noAliasFile =
  '/etc/aliases is not read: `serve --aliases` names the table of the relay, and `waybill reload` reads that again'

const isQueueFor = async ({ queue, creates }: Settings): Promise<boolean> => creates || mayBeQueue(queue)

const noQueue = (path: string): string =>
  `no queue at ${path}; \`waybill serve\` makes one, --create does it here${namingHint(path)}`

/** Says why on standard error. */
function failed(exitCode: number, reason: string): number {
  complain(reason)
  return exitCode
}

const complain = (reason: string): boolean => process.stderr.write(complaint(`waybill sendmail: ${reason}\n`))
