/** Help for people. Pure. */
import type { CommandGroup, NamedCommand } from './catalogue.js'
import { flagOf, type Command } from '../cli/command.js'

/** Of a terminal. */
export const columnCount = 80
/** Where the help of options begins at most; a longer option has its line. */
const helpColumnMax = 26

export function overviewOf(groups: readonly CommandGroup[]): string {
  const names = groups.flatMap(({ commands }) => Object.keys(commands))
  const width = Math.max(...names.map((name) => name.length)) + 4
  return [
    'usage: waybill COMMAND [OPTION …]',
    ...groups.flatMap(({ title, commands }) => [
      '',
      `${title}:`,
      ...Object.entries(commands).map(([name, { summary }]) => beside(`  ${name}`, summary, width)),
    ]),
    '',
    filled('`waybill help COMMAND` explains a command; `waybill --version` prints the version.', 0),
    '',
  ].join('\n')
}

/** `usage: waybill NAME …`, a line or more for each form of the call. */
export function usageOf(name: string, { synopsis }: Pick<Command, 'synopsis'>): string {
  const forms = synopsis.split('\n').map((form, at) => {
    const begin = `${at === 0 ? 'usage:' : '      '} waybill ${name} `
    return begin + fill(form.match(/\[[^\]]*\]|\S+/g) ?? [], begin.length)
  })
  return forms.join('\n')
}

/** Text in lines that begin at a column. The end of a sentence at the end of a line stays there. */
function filled(text: string, column: number): string {
  return text
    .replaceAll(/(?<!\.)\n/g, ' ')
    .split('\n')
    .map((paragraph) => fill(paragraph.split(' '), column))
    .join(`\n${' '.repeat(column)}`)
}

/** The first line has begun already. */
function fill(words: readonly string[], column: number): string {
  const lines: string[] = []
  for (const word of words) {
    const last = lines.at(-1)
    if (last === undefined || column + last.length + 1 + word.length > columnCount) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines.join(`\n${' '.repeat(column)}`)
}

function beside(left: string, text: string, column: number): string {
  const begin = left.length < column ? left.padEnd(column) : `${left}\n${' '.repeat(column)}`
  return begin + filled(text, column)
}

/** `-n, --name VALUE`, `-q[WHAT]`. */
export function optionNames(
  long: string,
  { short, value, isValueAttached }: Command['options'][string],
): string {
  const names = short === undefined || short === long ? flagOf(long) : `-${short}, ${flagOf(long)}`
  return value === undefined ? names : isValueAttached === true ? `${names}[${value}]` : `${names} ${value}`
}

export function helpOf({ name, summary, command }: NamedCommand): string {
  const lines = Object.entries(command.options).map(([long, option]): [string, string] => [
    `  ${optionNames(long, option)}`,
    option.help,
  ])
  const width = Math.min(helpColumnMax, Math.max(...lines.map(([left]) => left.length)) + 2)
  const table = lines.map(([left, help]) => beside(left, help, width))
  const notes = command.notes === undefined ? [] : [filled(command.notes, 0)]
  const parts = [usageOf(name, command), filled(summary, 0), table.join('\n'), ...notes]
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`
}
