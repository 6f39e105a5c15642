/** The common frame of commands that read a queue's directory.
 * Invariant: they only read, without lock or write, and may run beside a relay. None ends with
 * 0 after damage. */
import { nounText } from '../../../src/base/text.js'
import { isWaybillError } from '../../../src/errors.js'
import type { Finding, Report } from '../../../src/inspect/damage/finding.js'
import { QueueDirectory } from '../../../src/inspect/queue/queue-directory.js'
import {
  lineOf,
  oneOperand,
  wayOutOf,
  wayOutOfDamage,
  type Arguments,
  type Command,
  type Option,
} from '../cli/command.js'
import { printable } from '../text/shown-text.js'
import { Output, OutputClosed, processSurroundings, type Surroundings } from '../text/output.js'
import { Progress } from '../text/progress.js'
import { actAsOwner } from '../cli/queue-owner.js'
import { queueHelp, queuePathOf } from '../cli/queue-path.js'
import { noQueueText } from '../cli/shown-queue.js'

export const exits = { fine: 0, wrong: 1, usage: 2, noQueue: 3 } as const

const exitNotes = 'Exit codes: 0 fine, 1 something is wrong with the queue, 2 usage, 3 no such queue.'

export const queueOption: Readonly<Record<string, Option>> = {
  queue: { value: 'DIR', help: queueHelp },
}
export const jsonOption: Readonly<Record<string, Option>> = {
  json: { help: 'one JSON object a line' },
}

export interface Inspected {
  readonly directory: QueueDirectory
  readonly path: string
  readonly args: Arguments
  readonly out: Output
  readonly surroundings: Surroundings
  readonly report: Report
  /** Damage that was reported so far, each once. */
  readonly findings: readonly Finding[]
  readonly progress: Progress
}

/** A command that can be run in other surroundings than the process. */
export interface InspectCommand extends Command {
  runIn(args: Arguments, surroundings: Surroundings): Promise<number>
}

/** Of a command without arguments of which one could be wrong. */
export const unchecked = (): undefined => undefined

/** @param command with `positionalQueue` the queue is the first argument, not an option
 * @param check reads the arguments before the queue is looked for, @throws UsageError
 * @param inspect returns an exit code; damage that it reported makes a 0 a 1 */
export function inspectCommand<T>(
  { positionalQueue = false, ...command }: Omit<Command, 'run'> & { readonly positionalQueue?: boolean },
  check: (args: Arguments, surroundings: Surroundings) => T,
  inspect: (inspected: Inspected, checked: T) => Promise<number>,
): InspectCommand {
  // qshape has -c as in Postfix, where it names a directory, too.
  const pathOf = (args: Arguments): string =>
    positionalQueue ? oneOperand(args, 'queue directory') : (args.one('c') ?? queuePathOf(args))
  const runIn = async (args: Arguments, surroundings: Surroundings): Promise<number> => {
    const path = pathOf(args)
    const checked = check(args, surroundings)
    return run(path, args, surroundings, (inspected) => inspect(inspected, checked))
  }
  return {
    ...command,
    options: positionalQueue ? command.options : { ...queueOption, ...command.options },
    notes: command.notes === undefined ? exitNotes : `${command.notes}\n${exitNotes}`,
    run: (args) => runIn(args, processSurroundings()),
    runIn,
  }
}

async function run(
  path: string,
  args: Arguments,
  surroundings: Surroundings,
  inspect: (inspected: Inspected) => Promise<number>,
): Promise<number> {
  const disk = surroundings.openDisk(path)
  try {
    await actAsOwner(path)
    const findings: Finding[] = []
    const told = new Set<string>()
    const report = (finding: Finding): void => {
      const sentence = sentenceOf(finding)
      if (told.has(sentence)) return
      told.add(sentence)
      findings.push(finding)
    }
    const directory = await QueueDirectory.open(disk, report)
    if (directory === undefined) return noQueue(path, '', surroundings)
    const out = new Output(surroundings)
    const progress = new Progress(surroundings)
    const exitCode = await inspect({ directory, path, args, out, surroundings, report, findings, progress })
    progress.end()
    await out.flush()
    return exitCode === exits.fine && findings.length > 0 ? exits.wrong : exitCode
  } catch (error) {
    if (error instanceof OutputClosed) return exits.fine
    if (isWaybillError(error, 'NOT_A_QUEUE')) return noQueue(path, error.message, surroundings)
    if (isWaybillError(error, 'DISK_FAILED') && error.place.errno === 'ENOTDIR')
      return noQueue(path, 'this is no directory', surroundings)
    if (!isWaybillError(error)) throw error
    surroundings.complain(`waybill: ${lineOf(error)}\n${wayOutOf(error, path)}`)
    return exits.wrong
  } finally {
    disk.abandon()
  }
}

/** @param reason '' where nothing lies there */
function noQueue(path: string, reason: string, { complain }: Surroundings): number {
  complain(`waybill: ${noQueueText(path, reason)}\n`)
  return exits.noQueue
}

/** Findings for standard error, of which a listing shows only the first. */
const findingsShownMax = 10

/** For commands with other output: findings and advice on standard error. */
export function complainOf({
  findings,
  path,
  surroundings,
}: Pick<Inspected, 'findings' | 'path' | 'surroundings'>): void {
  const red = surroundings.complainsToTerminal ? ['\x1b[31m', '\x1b[0m'] : ['', '']
  for (const finding of findings.slice(0, findingsShownMax))
    surroundings.complain(`${red[0]}damage: ${sentenceOf(finding)}${red[1]}\n`)
  const more = findings.length - findingsShownMax
  if (more > 0) surroundings.complain(`damage: ${more} more\n`)
  if (findings.length > 0) surroundings.complain(wayOutOfDamage(path))
}

export function sentenceOf({ log, segment, offsetBytes, bytes, reason, lost }: Finding): string {
  const where = [
    log,
    ...(segment === undefined ? [] : [`segment ${segment}`]),
    ...(offsetBytes === undefined ? [] : [`offset ${offsetBytes}`]),
  ].join(', ')
  return printable(
    `${where}: ${reason}${bytes > 0 ? ` (${bytes} ${nounText(bytes, 'byte')})` : ''}; lost: ${lost}`,
  )
}
