/** `serve --config FILE`: options as lines of a file, `listen 0.0.0.0:25`, and parameters of the
 * scheduler by their names in main.cf.
 * Invariant: a line means what the same words mean on the command line, except that a path is
 * looked for from where the file is; an option that stands on the command line goes before all of
 * its lines. An error in a line names it, and so does one in its value, which is read later. */
import { dirname, resolve } from 'node:path'
import { isWaybillError, WaybillError, type Place } from '../../../src/errors.js'
import { tableLines } from '../../../src/relay/tables/table-lines.js'
import { flagOf, UsageError, type Arguments, type Command } from '../cli/command.js'
import { otherNames } from '../parameters/other-names.js'
import { fileTextOf } from '../tables/relay-files.js'

/** The option that names the file. */
const configOption = 'config'

/** Name and value, as in ssh_config(5): blanks between them, one `=` among these or not. */
const lineForm = /^\s*(\S+?)(?:\s*=\s*|\s+|$)(.*?)\s*$/

/** A value, where it stands. */
interface Line {
  readonly value: string
  readonly place: Place
}

export interface ConfiguredArguments extends Arguments {
  /** The same error; one that is about a value of the file with its line. */
  readonly placed: (error: unknown) => unknown
}

/** @returns the arguments of the command line, and of the file that they name
 * @throws UsageError, WaybillError OPTION_INVALID */
export async function withConfig({ options }: Command, args: Arguments): Promise<ConfiguredArguments> {
  const path = args.one(configOption)
  if (path === undefined) return { ...args, placed: (error) => error }
  const lines = linesOf(await fileTextOf(configOption, path), path, options)
  const linesFor = (name: string): readonly Line[] => (args.isSet(name) ? [] : (lines.get(name) ?? []))
  const all = (name: string): readonly string[] =>
    args.isSet(name) ? args.all(name) : linesFor(name).map(({ value }) => value)
  return {
    one: (name) => all(name).at(-1),
    all,
    isSet: (name) => all(name).length > 0,
    names: args.names,
    rest: args.rest,
    placed: (error) => placed(error, linesFor),
  }
}

/** What an error begins with, or has as its place, is what it is about. */
function placed(error: unknown, linesFor: (name: string) => readonly Line[]): unknown {
  if (!(error instanceof UsageError || isWaybillError(error, 'OPTION_INVALID'))) return error
  const [, flag] = /^--?([a-z-]+)/.exec(error.message) ?? []
  const name = flag ?? (isWaybillError(error) ? error.place.option : undefined)
  const lines = name === undefined ? [] : linesFor(name)
  const named = lines.filter(({ value }) => error.message.includes(value))
  const [first] = named.length > 0 ? named : lines
  if (first === undefined) return error
  return new UsageError(`${error.message} (${first.place.path}, line ${first.place.line})`, { cause: error })
}

/** @returns the values of each option @throws WaybillError OPTION_INVALID */
function linesOf(text: string, path: string, options: Command['options']): Map<string, Line[]> {
  const lines = new Map<string, Line[]>()
  for (const { text: line, place } of tableLines(text, configOption, path)) {
    const [, written = '', value = ''] = lineForm.exec(line) ?? []
    // Options have no `_`, parameters of the scheduler have no other.
    const [name, given] = written.includes('_') ? ['o', `${written}=${value}`] : [written, value]
    const before = lines.get(name) ?? []
    lines.set(name, [
      ...before,
      { value: checkedValue(name, given, before.length > 0, options, place), place },
    ])
  }
  return lines
}

/** @throws WaybillError OPTION_INVALID */
function checkedValue(
  name: string,
  value: string,
  isRepeated: boolean,
  options: Command['options'],
  place: Place,
): string {
  const wrong = (reason: string): WaybillError => new WaybillError('OPTION_INVALID', reason, place)
  const option = Object.hasOwn(options, name) ? options[name] : undefined
  if (option === undefined)
    throw wrong(
      Object.hasOwn(otherNames, name)
        ? `there is no option '${name}': here it is ${otherNames[name]}`
        : `there is no option '${name}'; as on the command line, without dashes`,
    )
  if (name === configOption) throw wrong('a file of options names no other')
  if (isRepeated && option.many !== true) throw wrong(`${flagOf(name)} is given twice`)
  if (option.value === undefined && value !== '') throw wrong(`${flagOf(name)} takes no value`)
  if (option.value !== undefined && value === '') throw wrong(`${flagOf(name)} takes ${option.value}`)
  const isPath = option.value === 'FILE' || option.value === 'DIR'
  return isPath ? resolve(dirname(place.path!), value) : value
}
