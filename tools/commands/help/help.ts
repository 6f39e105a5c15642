/** `waybill help`: lists the commands, or explains one. */
import { commandGroups, commandNameIn, loadAll, loadCommand, type CommandGroup } from './catalogue.js'
import { UsageError, type Arguments, type Command } from '../cli/command.js'
import { helpOf, overviewOf } from './help-text.js'
import { manPageOf } from './man-page.js'
import { print } from '../text/output.js'
import { versionText } from '../cli/version.js'

export const help: Command = {
  synopsis: '[COMMAND | --man]',
  operands: true,
  options: { man: { help: 'the manual page, as troff' } },
  run: async (args) => print(await helpFor(args)),
}

/** The commands whose first word it is. */
const groupsBelow = (word: string): readonly CommandGroup[] =>
  commandGroups
    .map(({ title, commands }) => ({
      title,
      commands: Object.fromEntries(Object.entries(commands).filter(([name]) => name.startsWith(`${word} `))),
    }))
    .filter(({ commands }) => Object.keys(commands).length > 0)

/** @throws UsageError */
async function helpFor(args: Arguments): Promise<string> {
  const { rest } = args
  if (args.isSet('man')) {
    if (rest.length > 0) throw new UsageError('--man is about all commands')
    return manPageOf(await loadAll(), versionText())
  }
  if (rest.length === 0) return overviewOf(commandGroups)
  const word = rest.join(' ')
  const longer = groupsBelow(word)
  if (longer.length > 0) return overviewOf(longer)
  const named = commandNameIn(rest) === word ? await loadCommand(word) : undefined
  if (named === undefined) throw new UsageError(`no command '${word}'; \`waybill help\` lists them`)
  return helpOf(named)
}
