/** `waybill help`: what there is, and how to call it. */
import { commandNameIn, loadAll, loadCommand } from './catalogue.js'
import { UsageError, type Arguments, type Command } from './command.js'
import { helpOf, overviewOf } from './help-text.js'
import { manPageOf } from './man-page.js'
import { print } from './output.js'
import { versionText } from './version.js'

export const help: Command = {
  summary: 'lists the commands, or tells how one is called',
  synopsis: '[COMMAND | --man]',
  options: { man: { help: 'the manual page, as troff' } },
  run: async (args) => print(await helpFor(args)),
}

/** @throws UsageError */
async function helpFor(args: Arguments): Promise<string> {
  const { rest } = args
  if (args.isSet('man')) {
    if (rest.length > 0) throw new UsageError('--man is about all commands')
    return manPageOf(await loadAll(), versionText())
  }
  if (rest.length === 0) return overviewOf(await loadAll())
  const name = commandNameIn(rest)
  const command = name === rest.join(' ') ? await loadCommand(name) : undefined
  if (name === undefined || command === undefined)
    throw new UsageError(`no command '${rest.join(' ')}'; \`waybill help\` lists them`)
  return helpOf(name, command)
}
