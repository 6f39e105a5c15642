/** The words that may follow on the command line, for completion. Pure.
 * They come from the commands' tables, by the names of values in the help. */
import { kinds } from '../../../src/record/frame.js'
import type { LoadedGroup } from './catalogue.js'
import type { Command } from '../cli/command.js'

export type Values =
  | { readonly kind: 'words'; readonly words: readonly string[] }
  | { readonly kind: 'directory' }
  | { readonly kind: 'file' }
  /** Unknown values: an address, a number. */
  | { readonly kind: 'unknown' }

export interface CompletedOption {
  /** `-q`, `--queue`. */
  readonly flags: readonly string[]
  /** undefined: a switch. */
  readonly values: Values | undefined
  readonly placeholder: string
  readonly isRepeatable: boolean
  /** In one line. */
  readonly help: string
}

export interface CompletedCommand {
  /** One word or two. */
  readonly name: string
  readonly summary: string
  readonly options: readonly CompletedOption[]
  readonly arguments: Values
}

const lanes = ['incoming', 'active', 'deferred', 'hold']

export function completedCommands(groups: readonly LoadedGroup[]): CompletedCommand[] {
  const all = groups.flatMap(({ commands }) => commands)
  const names = [...new Set(all.map(({ name }) => name.split(' ')[0]!))]
  return all.map(({ name, summary, command }) => ({
    name,
    summary,
    options: [...Object.entries(command.options).map(optionOf), helpOption],
    arguments: argumentsOf(command, names),
  }))
}

const helpOption: CompletedOption = {
  flags: ['--help'],
  values: undefined,
  placeholder: '',
  isRepeatable: false,
  help: 'shows its options',
}

function optionOf([long, { short, value: given, isValueAttached, words, many, help }]: [
  string,
  Command['options'][string],
]): CompletedOption {
  const value = isValueAttached === true ? undefined : given
  const flags = [...(short === undefined ? [] : [`-${short}`]), ...(long.length === 1 ? [] : [`--${long}`])]
  return {
    flags: flags.length === 0 ? [`-${long}`] : flags,
    values:
      value === undefined ? undefined : words === undefined ? valuesOf(value) : { kind: 'words', words },
    placeholder: value ?? '',
    isRepeatable: many === true,
    help: help.replaceAll('\n', ' '),
  }
}

function valuesOf(placeholder: string): Values {
  if (placeholder === 'DIR') return { kind: 'directory' }
  if (placeholder.startsWith('FILE')) return { kind: 'file' }
  if (placeholder === 'LANE') return { kind: 'words', words: lanes }
  if (placeholder === 'KIND') return { kind: 'words', words: Object.keys(kinds) }
  if (/^[a-z]+(?:\|[a-z]+)+$/.test(placeholder)) return { kind: 'words', words: placeholder.split('|') }
  return { kind: 'unknown' }
}

/** The operands in the usage line. */
function argumentsOf({ synopsis, options }: Command, commandNames: readonly string[]): Values {
  const takesValue = new Set(
    Object.entries(options).flatMap(([long, { short, value }]) =>
      value === undefined ? [] : [`--${long}`, `-${long}`, `-${short ?? long}`],
    ),
  )
  const tokens = synopsis
    .replace(/[[\]…]|(?<= )\|(?= )/g, ' ')
    .split(/\s+/)
    .filter((token) => token !== '')
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i]!
    if (takesValue.has(token)) i++
    else if (token === 'COMMAND') return { kind: 'words', words: commandNames }
    else if (!token.startsWith('-')) {
      const values = valuesOf(token)
      if (values.kind !== 'unknown') return values
    }
  }
  return { kind: 'unknown' }
}
