/** The interface of a command, and the reader of its arguments.
 * Invariant: help and parser are made of the same table, so that neither names an option that the
 * other does not know. */
import { parseArgs, type ParseArgsConfig } from 'node:util'
import { nearestName } from './nearest-name.js'
import { thrownText } from '../../../src/base/realms.js'
import { isWaybillError } from '../../../src/errors.js'

/** One option of a command. Without `value` it is a switch. */
export interface Option {
  readonly short?: string
  /** The name of its value in the help, `DIR`. */
  readonly value?: string
  /** Its value stands in the same word, or there is none: `-q`, `-qIID`. */
  readonly isValueAttached?: true
  /** All values that it may have, for completion. */
  readonly words?: readonly string[]
  readonly many?: boolean
  /** Another option, which gets its values: `-r` of sendmail is `-f`. */
  readonly sameAs?: string
  readonly help: string
}

export interface Command {
  /** What follows the command's name in its usage line. */
  readonly synopsis: string
  readonly options: Readonly<Record<string, Option>>
  /** It takes operands: ids, names, a file. */
  readonly operands?: true
  /** More for its help, below the options. */
  readonly notes?: string
  /** Exit code of a wrong call; default 2. */
  readonly usageExitCode?: number
  /** @returns the exit code; undefined while started work goes on */
  run(args: Arguments): Promise<number | undefined>
}

export interface Arguments {
  /** The last value that was given. */
  one(option: string): string | undefined
  all(option: string): readonly string[]
  isSet(option: string): boolean
  /** Of all options of the command. */
  readonly names: readonly string[]
  readonly rest: readonly string[]
}

/** A call that cannot be understood; its message is for the person who made it. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** What the caller of a command gave, and the queue refuses as an option. @returns other errors as
 * they are */
export const asUsage = (error: unknown): unknown =>
  isWaybillError(error, 'OPTION_INVALID') ? new UsageError(error.message) : error

/** The only operand. @param what it is, for the error @throws UsageError */
export function oneOperand({ rest }: Arguments, what: string): string {
  const [given, ...more] = rest
  if (given === undefined || more.length > 0) throw new UsageError(`expected one ${what}`)
  return given
}

/** `-f`, `--queue`. */
export const flagOf = (option: string): string => (option.length === 1 ? `-${option}` : `--${option}`)

/** @throws UsageError */
export function parseArguments(command: Command, args: readonly string[]): Arguments {
  const options: NonNullable<ParseArgsConfig['options']> = {}
  for (const [name, { short, value }] of Object.entries(command.options)) {
    const type = value === undefined ? 'boolean' : 'string'
    options[name] = { type, multiple: true, ...(short === undefined ? undefined : { short }) }
  }
  const words = parseArgs({
    args: withAttached(command, args),
    options,
    allowPositionals: true,
    strict: false,
    tokens: true,
  })
  checkWords(command, words)
  const { tokens, positionals } = words
  if (command.operands === undefined && positionals.length > 0)
    throw new UsageError(`unexpected argument '${positionals[0] ?? ''}'`)
  const given = new Map<string, string[]>()
  for (const token of tokens) {
    if (token.kind !== 'option') continue
    const name = command.options[token.name]?.sameAs ?? token.name
    const values = given.get(name) ?? []
    values.push(token.value ?? 'true')
    given.set(name, values)
  }
  const all = (name: string): readonly string[] => given.get(name) ?? []
  for (const [name, { many = false, value }] of Object.entries(command.options)) {
    if (value !== undefined && !many && all(name).length > 1)
      throw new UsageError(`${flagOf(name)} is given twice`)
  }
  return {
    one: (name) => all(name).at(-1),
    all,
    isSet: (name) => given.has(name),
    names: Object.keys(command.options),
    rest: positionals,
  }
}

/** `-qIID` as `--q=IID`: otherwise a missing value would be the next word. */
function withAttached({ options }: Command, args: readonly string[]): string[] {
  const flags = Object.keys(options).filter((name) => options[name]!.isValueAttached === true)
  const end = args.includes('--') ? args.indexOf('--') : args.length
  return args.map((word, i) => {
    const flag = i < end ? flags.find((name) => word.startsWith(`-${name}`)) : undefined
    return flag === undefined ? word : `--${flag}=${word.slice(2)}`
  })
}

/** Node's parser, in words that name what was written. @throws UsageError */
function checkWords({ options }: Command, { tokens = [] }: ReturnType<typeof parseArgs>): void {
  for (const token of tokens) {
    if (token.kind !== 'option') continue
    const { name, rawName, value, inlineValue } = token
    const option = Object.hasOwn(options, name) ? options[name] : undefined
    if (option === undefined) throw new UsageError(`unknown option '${rawName}'${nearestHint(name, options)}`)
    if (option.value === undefined && value !== undefined) throw new UsageError(`${rawName} takes no value`)
    if (option.value !== undefined && value === undefined)
      throw new UsageError(`${rawName} wants a value, ${option.value}`)
    if (option.value !== undefined && inlineValue !== true && /^-./.test(value ?? ''))
      throw new UsageError(
        `${rawName} wants a value, and '${value}' looks like an option; ${valueFlagOf(name)}${value} gives it as one`,
      )
  }
}

/** `--limit=`, `-n`. */
const valueFlagOf = (option: string): string => `${flagOf(option)}${option.length === 1 ? '' : '='}`

const nearestHint = (name: string, options: Command['options']): string => {
  const nearest = nearestName(name, Object.keys(options))
  return nearest === undefined ? '' : `; is it ${flagOf(nearest)}?`
}

/** One line for a person: `QUEUE_LOCKED: another process has it (path …)`. */
export function lineOf(error: unknown): string {
  if (isWaybillError(error)) return `${error.code}: ${error.message}`
  return thrownText(error)
}

/** The advice in a separate line: after damage, because nothing is repaired in place, and to a user
 * that may not use the queue. '' for other errors.
 * @param queue its directory */
export function wayOutOf(error: unknown, queue: string): string {
  if (!isWaybillError(error)) return ''
  if (error.code === 'QUEUE_CRASHED') return wayOutOf(error.cause, queue)
  if (error.code === 'LOG_CORRUPT') return wayOutOfDamage(queue)
  const { directory, errno } = error.place
  const isForbidden = error.code === 'DISK_FAILED' && (errno === 'EACCES' || errno === 'EPERM')
  return isForbidden && directory === queue ? wayOutOfForbidden : ''
}

const wayOutOfForbidden =
  "waybill: this user may not do that to this queue: run it as the queue's owner, or as root\n"

export const wayOutOfDamage = (queue: string): string =>
  `waybill: \`waybill log verify --queue ${queue}\` shows the damage, \`waybill log rescue ${queue} --to NEW\` copies what is whole to a new queue\n`
