/** Help for people. Pure. */
import type { CommandGroup, NamedCommand } from './catalogue.js'
import { flagOf, type Command } from '../cli/command.js'

export function overviewOf(groups: readonly CommandGroup[]): string {
  const names = groups.flatMap(({ commands }) => Object.keys(commands))
  const width = Math.max(...names.map((name) => name.length)) + 2
  return [
    'usage: waybill COMMAND [OPTION …]',
    ...groups.flatMap(({ title, commands }) => [
      '',
      `${title}:`,
      ...Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(width)}${summary}`),
    ]),
    '',
    '`waybill help COMMAND` explains a command; `waybill --version` prints the version.',
    '',
  ].join('\n')
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
  const width = Math.max(...lines.map(([left]) => left.length)) + 2
  const table = lines.map(
    ([left, help]) => left.padEnd(width) + help.replaceAll('\n', `\n${' '.repeat(width)}`),
  )
  const notes = command.notes === undefined ? [] : [command.notes]
  const parts = [`usage: waybill ${name} ${command.synopsis}`, summary, table.join('\n'), ...notes]
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`
}
