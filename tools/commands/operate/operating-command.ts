/** The common frame of commands that act on a queue, or ask the relay that has it open.
 * Invariant: they never make a queue, and none ends with 0 if a request was not fully carried
 * out. */
import { ControlClient } from '../../../src/control/client.js'
import { isWaybillError } from '../../../src/errors.js'
import { QueueDirectory } from '../../../src/inspect/queue/queue-directory.js'
import { lineOf, wayOutOf, type Arguments, type Command } from '../cli/command.js'
import { noQueueText, shownQueue } from '../cli/shown-queue.js'
import { exits, queueOption } from '../look/inspection.js'
import { Output, OutputClosed, processSurroundings, type Surroundings } from '../text/output.js'
import { queuePathOf } from '../cli/queue-path.js'
import { actAsOwner } from '../cli/queue-owner.js'

const operatingExitNotes = 'Exit codes: 0 fine, 1 something could not be done, 2 usage, 3 no such queue.'

export interface Operating {
  readonly path: string
  readonly args: Arguments
  readonly out: Output
  readonly surroundings: Surroundings
  /** A line on standard error, behind the command's name. */
  readonly complain: (text: string) => void
}

/** A command that can be run in other surroundings than the process. */
export interface OperatingCommand extends Command {
  runIn(args: Arguments, surroundings: Surroundings): Promise<number>
}

/** @param name for its complaints
 * @param check reads the arguments before anything else is looked at, @throws UsageError
 * @param operate returns an exit code */
export function operatingCommand<T>(
  name: string,
  command: Omit<Command, 'run'>,
  check: (args: Arguments) => T,
  operate: (operating: Operating, checked: T) => Promise<number>,
): OperatingCommand {
  const runIn = (args: Arguments, surroundings: Surroundings): Promise<number> =>
    run(name, args, surroundings, check(args), operate)
  return {
    ...command,
    options: { ...queueOption, ...command.options },
    notes: command.notes === undefined ? operatingExitNotes : `${command.notes}\n${operatingExitNotes}`,
    run: async (args) => runIn(args, processSurroundings()),
    runIn: async (args, surroundings) => runIn(args, surroundings),
  }
}

async function run<T>(
  name: string,
  args: Arguments,
  surroundings: Surroundings,
  checked: T,
  operate: (operating: Operating, checked: T) => Promise<number>,
): Promise<number> {
  const path = queuePathOf(args)
  const out = new Output(surroundings)
  const complain = (text: string): void => surroundings.complain(`waybill ${name}: ${text}\n`)
  let exitCode: number = exits.fine
  try {
    const missing = await whyNoQueue(path, surroundings)
    if (missing !== undefined) {
      complain(noQueueText(path, missing))
      return exits.noQueue
    }
    exitCode = await operate({ path, args, out, surroundings, complain }, checked)
    await out.flush()
    return exitCode
  } catch (error) {
    // A closed output does not hide a failure.
    if (error instanceof OutputClosed) return exitCode
    if (!isWaybillError(error)) throw error
    // Found before.
    await out.flush().catch(() => undefined)
    complain(lineOf(error))
    surroundings.complain(wayOutOf(error, path))
    return exits.wrong
  }
}

/** @returns undefined if there is one; '' where nothing lies there */
async function whyNoQueue(path: string, { openDisk }: Surroundings): Promise<string | undefined> {
  const disk = openDisk(path)
  try {
    return (await QueueDirectory.open(disk, () => undefined)) === undefined ? '' : undefined
  } catch (error) {
    if (isWaybillError(error, 'NOT_A_QUEUE')) return error.message
    if (isWaybillError(error, 'DISK_FAILED') && error.place.errno === 'ENOTDIR') return 'this is no directory'
    throw error
  } finally {
    disk.abandon()
  }
}

/** For requests that only a relay can answer.\n@returns undefined if none runs, after a
 * complaint */
export async function relayOf({ path, complain }: Operating): Promise<ControlClient | undefined> {
  await actAsOwner(path)
  const relay = await ControlClient.connect(path)
  if (relay === undefined) complain(`no relay runs on the queue at ${shownQueue(path)}`)
  return relay
}
