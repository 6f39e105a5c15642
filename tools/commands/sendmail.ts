/** `waybill sendmail`: a message from standard input into a queue.
 * Invariant: it exits with 0 only when the message is durable in a queue for every recipient; 75 asks to be called again. With `--smtp` the message goes to that server. Otherwise into the directory: by SMTP to the relay that
 * has it open, or, when nobody has, by opening it; then it lies there until `waybill serve` starts. */
import { randomBytes } from 'node:crypto'
import { access, mkdir, readFile } from 'node:fs/promises'
import { hostname as machineName, userInfo } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { isWaybillError, openQueue, type DeliveryResult, type ErrorCode } from '../../src/index.js'
import { smtpTransport } from '../../src/relay/smtp-out.js'
import { lineOf, UsageError, type Arguments, type Command } from './command.js'
import { messageOf, recipientsOf, unixLines } from './message-text.js'
import { listeningFile } from './serve.js'
import { parseBytes, parseEndpoint, queueUsual, type Endpoint } from './values.js'

/** sysexits.h, which every caller of a sendmail knows. */
const exits = {
  ok: 0,
  usage: 64,
  data: 65,
  unavailable: 69,
  software: 70,
  io: 74,
  tryAgain: 75,
  noPermission: 77,
  config: 78,
} as const

/** How long a directory that another process is just leaving is waited for, milliseconds. */
const lockedWaitMs = 5000

export const sendmail: Command = {
  summary: 'submits a message from standard input',
  synopsis: '[-f SENDER] [-t] [-i] [--queue DIR | --smtp HOST:PORT] [RECIPIENT …]',
  options: {
    f: { short: 'f', value: 'SENDER', help: 'envelope sender; `<>` is the null sender (you@this-machine)' },
    F: { short: 'F', value: 'NAME', help: 'your name, for a message without a From field' },
    t: { short: 't', help: 'send to the addresses of To, Cc and Bcc as well; Bcc is removed' },
    i: { short: 'i', help: 'a line with a single dot does not end the message (also -oi)' },
    queue: { value: 'DIR', help: `the queue's directory (${queueUsual})` },
    smtp: { value: 'HOST:PORT', help: 'submit to this server instead' },
    'size-limit': { value: 'BYTES', help: 'largest message (50M)' },
    b: { short: 'b', value: 'm', help: 'ignored: -bm is what it does' },
    o: { short: 'o', value: 'OPTION', help: 'ignored, but for -oi' },
  },
  notes: 'Exit codes are those of sysexits.h: 0 durable in the queue, 64 usage, 65 data, 75 try again, …',
  usageExitCode: exits.usage,
  run,
}

interface Mail {
  readonly sender: string
  readonly recipients: readonly string[]
  readonly data: Buffer
}

async function run(args: Arguments): Promise<number> {
  if (args.isSet('queue') && args.isSet('smtp')) throw new UsageError('--queue or --smtp, not both')
  if (args.isSet('b') && args.one('b') !== 'm')
    throw new UsageError(`-b${args.one('b') ?? ''} is not supported`)
  const smtpText = args.one('smtp')
  const smtp = smtpText === undefined ? undefined : parseEndpoint('smtp', smtpText, '127.0.0.1', 25)
  const sizeBytesMax = parseBytes('size-limit', args.one('size-limit') ?? '50M')
  const hostname = machineName()
  const qualified = (address: string): string => (address.includes('@') ? address : `${address}@${hostname}`)
  const given = args.one('f')?.replace(/^<(.*)>$/, '$1') ?? userInfo().username
  const sender = given === '' ? '' : qualified(given)

  const input = await standardInput(sizeBytesMax)
  if (input === undefined) return failed(exits.data, `the message is longer than ${sizeBytesMax} bytes`)
  const lines = unixLines(input, !args.isSet('i') && !args.all('o').includes('i'))
  const recipients = [
    ...new Set([...args.rest, ...(args.isSet('t') ? recipientsOf(lines) : [])].map(qualified)),
  ]
  if (recipients.length === 0) return failed(exits.usage, 'no recipients')
  const unique = `${Date.now().toString(36)}.${randomBytes(8).toString('hex')}`
  const data = messageOf(lines, { sender, hostname, unique, now: new Date(), name: args.one('F') })
  const mail: Mail = { sender, recipients, data }
  if (smtp !== undefined) return exitOf(await overSmtp(mail, smtp))
  return intoDirectory(mail, args.one('queue'), sizeBytesMax)
}

/** @returns undefined when there is more than `bytesMax` */
async function standardInput(bytesMax: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > bytesMax) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Delivers it as a relay would, in one attempt. */
async function overSmtp(mail: Mail, server: Endpoint): Promise<DeliveryResult> {
  const transport = smtpTransport({ ...server, hostname: machineName(), connectionReuse: { idleMs: 0 } })
  const { data } = mail
  const request = {
    ...mail,
    id: '',
    attempts: 0,
    nexthop: server.host,
    acceptedAt: Date.now(),
    dataBytes: data.length,
    smtputf8: false,
    data: () => Promise.resolve(data),
    stream: () => Readable.from([data]),
  }
  return transport.deliver(request, new AbortController().signal)
}

/** Nobody could be reached, so that nothing was sent. */
const isUnreachable = (result: DeliveryResult): boolean =>
  'kind' in result && result.kind === 'site' && result.status === '4.4.1'

/** @returns the exit code, for the worst of the outcomes */
function exitOf(result: DeliveryResult): number {
  const outcomes = 'kind' in result ? [result] : result
  let exitCode: number = exits.ok
  for (const outcome of outcomes) {
    if (outcome.kind === 'delivered') continue
    complain(`${outcome.status} ${outcome.reason}`)
    if (outcome.kind === 'failed') exitCode = exits.unavailable
    else if (exitCode === exits.ok) exitCode = exits.tryAgain
  }
  return exitCode
}

async function intoDirectory(mail: Mail, given: string | undefined, dataBytesMax: number): Promise<number> {
  const directory = given ?? queueUsual
  if (given === undefined && !(await isThere(directory))) {
    return failed(exits.config, `no queue at ${directory}: name one with --queue, or a server with --smtp`)
  }
  for (const startedAt = Date.now(); ; await sleep(100)) {
    try {
      await mkdir(directory, { recursive: true })
      const queue = await openQueue(directory, {
        deliver: false,
        transports: {},
        route: () => ({ transport: 'none', nexthop: 'none' }),
        dataBytesMax,
      })
      try {
        await queue.submit(mail)
      } finally {
        queue.crash()
      }
      return exits.ok
    } catch (error) {
      if (!isWaybillError(error, 'QUEUE_LOCKED')) return failed(exitOfError(error), lineOf(error))
      const owner = await ownerOf(directory)
      const result = owner === undefined ? undefined : await overSmtp(mail, owner)
      if (result !== undefined && !isUnreachable(result)) return exitOf(result)
      if (Date.now() - startedAt > lockedWaitMs) return failed(exits.tryAgain, lineOf(error))
    }
  }
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

/** Where the relay that has the directory open says that it listens. */
async function ownerOf(directory: string): Promise<Endpoint | undefined> {
  const text = await readFile(join(directory, listeningFile), 'utf8').catch(() => undefined)
  return text === undefined ? undefined : parseEndpoint('smtp', text.trim(), '127.0.0.1', 25)
}

const exitsByCode: Partial<Record<ErrorCode, number>> = {
  NOT_A_QUEUE: exits.config,
  FORMAT_NEWER: exits.config,
  OPTION_INVALID: exits.config,
  LOCK_UNAVAILABLE: exits.config,
  NETWORK_FILE_SYSTEM: exits.config,
  LOG_CORRUPT: exits.io,
  DISK_FAILED: exits.io,
}

function exitOfError(error: unknown): number {
  if (isWaybillError(error)) {
    return exitsByCode[error.code] ?? (error.reply.code >= 500 ? exits.data : exits.tryAgain)
  }
  const errno = error instanceof Error && 'code' in error ? error.code : undefined
  if (errno === 'EACCES' || errno === 'EPERM' || errno === 'EROFS') return exits.noPermission
  return typeof errno === 'string' && /^E[A-Z]+$/.test(errno) ? exits.io : exits.software
}

function failed(exitCode: number, reason: string): number {
  complain(reason)
  return exitCode
}

const complain = (reason: string): boolean => process.stderr.write(`waybill sendmail: ${reason}\n`)
