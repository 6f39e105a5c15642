/** `waybill help`: what there is, and how to call it. */
import { commandNameIn, loadAll, loadCommand, type LoadedGroup } from './catalogue.js'
import { UsageError, type Arguments, type Command } from '../cli/command.js'
import { helpOf, overviewOf } from './help-text.js'
import { manPageOf } from './man-page.js'
import { print } from '../text/output.js'
import { versionText } from '../cli/version.js'

export const help: Command = {
  summary: 'lists the commands, or tells how one is called',
  synopsis: '[COMMAND | --man]',
  operands: true,
  options: { man: { help: 'the manual page, as troff' } },
  run: async (args) => print(await helpFor(args)),
}

const groupsBelow = (groups: readonly LoadedGroup[], word: string): readonly LoadedGroup[] =>
  groups
    .map(({ title, commands }) => ({
      title,
      commands: commands.filter(({ name }) => name.startsWith(`${word} `)),
    }))
    .filter(({ commands }) => commands.length > 0)

/** @throws UsageError */
async function helpFor(args: Arguments): Promise<string> {
  const { rest } = args
  if (args.isSet('man')) {
    if (rest.length > 0) throw new UsageError('--man is about all commands')
    return manPageOf(await loadAll(), versionText())
  }
  const groups = await loadAll()
  if (rest.length === 0) return overviewOf(groups)
  // `log`: the commands whose first word it is.
  const longer = groupsBelow(groups, rest.join(' '))
  if (longer.length > 0) return overviewOf(longer)
  const name = commandNameIn(rest)
  const command = name === rest.join(' ') ? await loadCommand(name) : undefined
  if (name === undefined || command === undefined)
    throw new UsageError(`no command '${rest.join(' ')}'; \`waybill help\` lists them`)
  return helpOf(name, command)
}
