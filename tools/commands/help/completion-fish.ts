/** Completion for fish. Pure. */
import { pairs } from './completion-bash.js'
import type { CompletedCommand, CompletedOption, Values } from './completion-words.js'

export function fishCompletion(commands: readonly CompletedCommand[]): string {
  const inPairs = pairs(commands)
  const lines = [
    ...commands
      .filter(({ name }) => !name.includes(' '))
      .map(({ name, summary }) => candidate('__waybill_begins', name, summary)),
    ...inPairs.map(([first]) => candidate('__waybill_begins', first, `waybill ${first} …`)),
    ...inPairs.flatMap(([first]) =>
      commands
        .filter(({ name }) => name.startsWith(`${first} `))
        .flatMap(({ name, summary }) =>
          ['', 'help '].map((before) =>
            candidate(`__waybill_begins ${before}${first}`, name.slice(first.length + 1), summary),
          ),
        ),
    ),
    ...commands.flatMap(({ name, options, arguments: values }) => [
      ...options.map((option) => optionLine(name, option)),
      ...argumentLines(name, values),
    ]),
  ]
  return `# Completion of waybill for fish: waybill completion fish | source
# Are these words, and no others, between waybill and the cursor?
function __waybill_begins
    set -l words (commandline -opc)
    test "$words[2..-1]" = "$argv"
end
# Is this the command?
function __waybill_is
    set -l words (commandline -opc)
    set -l last (math (count $argv) + 1)
    test (count $words) -ge $last; and test "$words[2..$last]" = "$argv"
end
complete -c waybill -f
${lines.join('\n')}
`
}

const candidate = (condition: string, word: string, summary: string): string =>
  `complete -c waybill -n ${quoted(condition)} -a ${quoted(word)} -d ${quoted(summary)}`

function optionLine(name: string, { flags, values, help }: CompletedOption): string {
  const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`))
  const value = values === undefined ? '' : ` ${valueOf(values)}`
  return `complete -c waybill -n ${quoted(`__waybill_is ${name}`)} ${names.join(' ')}${value} -d ${quoted(help)}`
}

function valueOf(values: Values): string {
  switch (values.kind) {
    case 'words':
      return `-x -a ${quoted(values.words.join(' '))}`
    case 'directory':
      return `-x -a '(__fish_complete_directories)'`
    case 'file':
      return '-r -F'
    case 'unknown':
      return '-x'
  }
}

function argumentLines(name: string, values: Values): string[] {
  const condition = quoted(`__waybill_is ${name}`)
  switch (values.kind) {
    case 'words':
      return [`complete -c waybill -n ${condition} -a ${quoted(values.words.join(' '))}`]
    case 'directory':
      return [`complete -c waybill -n ${condition} -a '(__fish_complete_directories)'`]
    case 'file':
      return [`complete -c waybill -n ${condition} -F`]
    case 'unknown':
      return []
  }
}

const quoted = (text: string): string => `'${text.replace(/['\\]/g, '\\$&')}'`
