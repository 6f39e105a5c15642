/** The manual page, troff with the macros of man(7). Pure: the same commands and version make the
 * same page.
 * Invariant: our text never becomes a request: troff's characters are escaped. */
import type { LoadedGroup, NamedCommand } from './catalogue.js'
import type { Command } from '../cli/command.js'
import { optionNames } from './help-text.js'
import { queueVariable } from '../cli/queue-path.js'
import { storeVariable } from '../store/store-place.js'

export function manPageOf(groups: readonly LoadedGroup[], version: string): string {
  return [
    `.TH WAYBILL 1 "" "waybill ${version}" "User Commands"`,
    // An option broken at its hyphen could not be copied or found.
    '.nh',
    '.ad l',
    '.SH NAME',
    'waybill \\- a log-structured, crash-only mail queue',
    '.SH SYNOPSIS',
    '.B waybill',
    '.I COMMAND',
    `[${italic('OPTION')} ...]`,
    '.SH DESCRIPTION',
    ...paragraph(
      'A mail queue in which everything is appended to logs. Mail that it has accepted survives the death of the process and of the machine; it is stopped by killing it and started by recovering it.',
    ),
    ...groups.flatMap(({ title, commands }) => [
      `.SH "${escaped(title).toUpperCase()}"`,
      ...commands.flatMap(sectionOf),
    ]),
    '.SH ENVIRONMENT',
    '.TP',
    `.B ${queueVariable}`,
    ...paragraph('The queue of a command without `--queue`.'),
    '.TP',
    `.B ${storeVariable}`,
    ...paragraph('The store of a command without `--store`: postgres://USER@HOST,HOST/DATABASE.'),
    '.TP',
    '.B PGPASSFILE',
    ...paragraph('The file with the password of a store; ~/.pgpass by default.'),
    '.SH FILES',
    '.TP',
    '.I ./var/queue',
    'The queue, when neither the command nor the environment names one.',
    '.TP',
    '.I ./var/queue/control',
    'The socket by which commands reach the relay that has the queue open. For its owner alone.',
    '.SH "EXIT STATUS"',
    ...paragraph(
      'Where a command does not say otherwise: 0 fine, 1 something is wrong or was not done, 2 wrong usage, 3 no such queue.',
    ),
    '.SH "SEE ALSO"',
    '.BR sendmail (8),',
    '.BR mailq (1)',
    '',
  ].join('\n')
}

function sectionOf({ name, summary, command }: NamedCommand): string[] {
  const [form = '', ...otherForms] = command.synopsis.split('\n').map(escaped)
  return [
    `.SS "waybill ${escaped(name)} ${form}"`,
    ...otherForms.flatMap((other) => [`.B "waybill ${escaped(name)} ${other}"`, '.PP']),
    ...paragraph(`${summary[0]!.toUpperCase()}${summary.slice(1)}.`),
    ...Object.entries(command.options).flatMap(([long, option]) => optionOf(long, option)),
    ...(command.notes === undefined ? [] : ['.PP', ...paragraph(command.notes)]),
  ]
}

function optionOf(long: string, option: Command['options'][string]): string[] {
  const { value, isValueAttached, ...named } = option
  const names = optionNames(long, named)
  const head = names
    .split(', ')
    .map((name) => `\\fB${escaped(name)}\\fR`)
    .join(', ')
  const behind =
    value === undefined ? '' : isValueAttached === true ? `[${italic(value)}]` : ` ${italic(value)}`
  return ['.TP', `${head}${behind}`, ...paragraph(option.help)]
}

const italic = (text: string): string => `\\fI${escaped(text)}\\fR`

/** Lines of text; words in backquotes are literal. */
const paragraph = (text: string): string[] =>
  text.split('\n').map((line) =>
    // A line that begins with one of these would be a request.
    escaped(line)
      .replace(/^([.'])/, '\\&$1')
      .replace(/`([^`]+)`/g, '\\fB$1\\fR'),
  )

const glyphs: Readonly<Record<string, string>> = {
  '\\': '\\e',
  '-': '\\-',
  '…': '...',
  '"': '\\(dq',
  '~': '\\(ti',
  '^': '\\(ha',
}
const escaped = (text: string): string => text.replace(/[\\\-…"~^]/g, (glyph) => glyphs[glyph]!)
