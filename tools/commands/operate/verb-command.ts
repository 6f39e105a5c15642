/** The commands of verbs: hold, release, requeue, delete, flush, expire, reroute.
 * Invariant: printed counts are exact and durable. A command ends with 1 if it did not reach every
 * match, or a given id is not there. */
import type { VerbOutcome, VerbRequest } from '../../../src/control/protocol.js'
import type { VerbResult } from '../../../src/admin/verbs/tally.js'
import { countText } from '../../../src/base/text.js'
import type { ListedMessage, Selector } from '../../../src/index.js'
import {
  lineOf,
  wayOutOf,
  wayOutOfDamage,
  type Arguments,
  type Command,
  type Option,
} from '../cli/command.js'
import { complainOf, exits, jsonOption } from '../look/inspection.js'
import { listedJson, listedText } from '../text/listed-message.js'
import { operatingCommand, type Operating, type OperatingCommand } from './operating-command.js'
import { openListing, openOperator, type Operator } from './operator.js'
import { OutputClosed } from '../text/output.js'
import { RunningCount } from '../text/progress.js'
import { selectorOptions, selectorsOf, selectorSynopsis } from './verb-selector.js'

export interface VerbDefinition {
  readonly name: VerbRequest['do']
  /** The state of a message afterwards, `held`. */
  readonly done: string
  /** More of the usage line, and of the options. */
  readonly synopsis?: string
  readonly options?: Readonly<Record<string, Option>>
  readonly notes: string
  /** Reads the further options. @throws UsageError */
  readonly request: (args: Arguments) => (selector: Selector) => VerbRequest
  /** Would it change this message? If not, `why`: `on hold already`. */
  readonly affects: (message: ListedMessage) => boolean
  readonly why: string
}

interface Checked {
  readonly selectors: readonly Selector[]
  readonly requestFor: (selector: Selector) => VerbRequest
}

const verbNotes =
  'A running relay does it; without one this command does it under the lock of the queue;\n' +
  'with --dry-run it only reads then.\n' +
  'Counts are of durable effects. Ctrl-C stops between messages and prints the counts so far; finished effects stay.'

export function verbCommand(definition: VerbDefinition): OperatingCommand {
  const { name, synopsis = '', options, notes } = definition
  const command: Omit<Command, 'run'> = {
    synopsis: `[--queue DIR] [--json] [--dry-run]${synopsis} ${selectorSynopsis}`,
    operands: true,
    options: {
      ...jsonOption,
      'dry-run': { help: 'only list the messages' },
      ...options,
      ...selectorOptions,
    },
    notes: `${notes}\n${verbNotes}`,
  }
  const check = (args: Arguments): Checked => {
    const requestFor = definition.request(args)
    return { selectors: selectorsOf(args), requestFor }
  }
  return operatingCommand(name, command, check, (operating, checked) =>
    operate(definition, operating, checked),
  )
}

async function operate(
  definition: VerbDefinition,
  operating: Operating,
  { selectors, requestFor }: Checked,
): Promise<number> {
  if (operating.args.isSet('dry-run')) return listAll(definition, operating, selectors)
  const operator = await openOperator(operating.path, operating.surroundings)
  try {
    let exitCode: number = exits.fine
    for (const [i, selector] of selectors.entries()) {
      const code = await done(definition, operating, operator, selector, requestFor(selector))
      exitCode = Math.max(exitCode, code)
      const left = selectors.length - i - 1
      if (left === 0 || !(await isStopped(operating))) continue
      operating.complain(`stopped: ${countText(left, 'message')} left as they were`)
      return exits.wrong
    }
    return exitCode
  } finally {
    operator.close()
  }
}

/** By Ctrl-C, or because the reader has left. */
async function isStopped({ out, surroundings }: Operating): Promise<boolean> {
  try {
    await out.flush()
  } catch (error) {
    if (!(error instanceof OutputClosed)) throw error
    return true
  }
  return surroundings.stopped.aborted
}

async function listAll(
  definition: VerbDefinition,
  operating: Operating,
  selectors: readonly Selector[],
): Promise<number> {
  const { path, surroundings } = operating
  const queue = await openListing(path, surroundings)
  try {
    let exitCode: number = exits.fine
    for (const selector of selectors)
      exitCode = Math.max(exitCode, await listed(definition, operating, queue, selector))
    const findings = 'findings' in queue ? queue.findings : []
    if (findings.length === 0) return exitCode
    await operating.out.flush()
    complainOf({ findings, path, surroundings })
    return exits.wrong
  } finally {
    queue.close()
  }
}

async function listed(
  { affects }: VerbDefinition,
  { args, out, complain }: Operating,
  queue: Pick<Operator, 'list'>,
  selector: Selector,
): Promise<number> {
  let count = 0
  for await (const message of queue.list(selector)) {
    if (!affects(message)) continue
    count++
    if (args.isSet('json')) out.json(listedJson(message))
    else out.line(listedText(message))
    if (out.isFull) await out.flush()
  }
  if (count === 0 && selector.id !== undefined) {
    complain(`${selector.id}: there is no such message, or nothing to do`)
    return exits.wrong
  }
  if (!args.isSet('json') && selector.id === undefined) out.line(`${countText(count, 'message')} selected`)
  return exits.fine
}

async function done(
  definition: VerbDefinition,
  { path, args, out, surroundings, complain }: Operating,
  operator: Operator,
  selector: Selector,
  request: VerbRequest,
): Promise<number> {
  const running = new RunningCount(surroundings, definition.done)
  let outcome: VerbOutcome
  try {
    const options = { signal: surroundings.stopped, onProgress: (soFar: VerbResult) => running.show(soFar) }
    outcome = await operator.verb(request, options)
  } catch (error) {
    running.end()
    const known = countText(running.messageCount, 'message')
    complain(`${lineOf(error)}; ${known} known to be ${definition.done} until then`)
    surroundings.complain(wayOutOf(error, path))
    return exits.wrong
  }
  running.end()
  const { messageCount, recipientCount, missedCount, failedCount, stopped } = outcome
  if (args.isSet('json'))
    out.json({
      verb: definition.name,
      ...(selector.id === undefined ? undefined : { id: selector.id }),
      messages: messageCount,
      recipients: recipientCount,
      missed: missedCount,
      failed: failedCount,
      stopped,
      by: operator.isRelay ? 'relay' : 'lock',
    })
  else if (selector.id === undefined || messageCount > 0) out.line(sentenceOf(definition, selector, outcome))
  if (missedCount > 0)
    complain(`${countText(missedCount, 'message')} ended or moved on before it could be ${definition.done}`)
  if (failedCount > 0) {
    complain(
      `${countText(failedCount, 'message')} could not be read${operator.isRelay ? "; the relay's log tells why" : ''}`,
    )
    surroundings.complain(wayOutOfDamage(path))
  }
  if (stopped || missedCount > 0 || failedCount > 0) return exits.wrong
  return selector.id !== undefined && messageCount === 0
    ? await withoutEffect(definition, operator, selector, complain)
    : exits.fine
}

function sentenceOf(
  { done: past }: VerbDefinition,
  { id }: Selector,
  { messageCount, recipientCount, stopped }: VerbOutcome,
): string {
  const what = id ?? countText(messageCount, 'message')
  const sentence = `${what} ${past} (${countText(recipientCount, 'recipient')})`
  return stopped ? `stopped: ${sentence}; the rest is as it was` : sentence
}

/** Nothing was done to an id: is it missing, or already in that state? */
async function withoutEffect(
  { affects, why }: VerbDefinition,
  operator: Operator,
  selector: Selector,
  complain: (text: string) => void,
): Promise<number> {
  for await (const message of operator.list(selector)) {
    if (affects(message)) break
    complain(`${message.id}: ${why}`)
    return exits.fine
  }
  complain(`${selector.id ?? ''}: there is no such message, or the other options exclude it`)
  return exits.wrong
}

/** For verbs without further options. */
export const plain =
  (name: 'hold' | 'release' | 'requeue' | 'delete' | 'expire') =>
  (): ((selector: Selector) => VerbRequest) =>
  (selector) => ({
    do: name,
    selector,
  })
