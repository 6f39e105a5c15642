#!/usr/bin/env node
/** The command: `waybill COMMAND …`. */
import { isWaybillError } from '../src/errors.js'
import { nearestName } from './commands/cli/nearest-name.js'
import { wordsOf } from './commands/cli/called-as.js'
import { commandGroups, commandNameIn, commandNames, loadCommand } from './commands/help/catalogue.js'
import { lineOf, parseArguments, UsageError, wayOutOf } from './commands/cli/command.js'
import { helpOf, overviewOf } from './commands/help/help-text.js'
import { print } from './commands/text/output.js'
import { queueOfEnvironment } from './commands/cli/queue-path.js'
import { reloadAtHangup } from './commands/serve/reload.js'
import { versionText } from './commands/cli/version.js'
import { complaint } from './commands/text/shown-text.js'

async function main(words: readonly string[]): Promise<number | undefined> {
  const [first] = words
  if (first === undefined) {
    process.stderr.write(overviewOf(commandGroups))
    return 2
  }
  if (first === '--version' || first === '-V' || first === '-v') {
    return print(`waybill ${versionText()}\n`)
  }
  if (first === '--help' || first === '-h') return main(['help', ...words.slice(1)])
  const name = commandNameIn(words)
  if (name === 'serve') reloadAtHangup()
  const named = name === undefined ? undefined : await loadCommand(name)
  if (name === undefined || named === undefined) {
    const longer = commandNames.filter((known) => known.startsWith(`${first} `))
    if (longer.length > 0 && ['--help', '-h'].includes(words[1] ?? '')) return main(['help', first])
    const nearest = nearestName(first, commandNames)
    const hint = nearest === undefined ? '' : `; is it ${nearest}?`
    const reason = longer.length === 0 ? `no command '${first}'${hint}` : `which of ${longer.join(', ')}?`
    process.stderr.write(`waybill: ${reason}; \`waybill help\` lists them\n`)
    return 2
  }
  const { command } = named
  const rest = words.slice(name.split(' ').length)
  const upToEnd = rest.includes('--') ? rest.slice(0, rest.indexOf('--')) : rest
  if (upToEnd.includes('--help') || (upToEnd.includes('-h') && command.options['h'] === undefined)) {
    return print(helpOf(named))
  }
  try {
    return await command.run(parseArguments(command, rest))
  } catch (error) {
    if (!(error instanceof UsageError || isWaybillError(error, 'OPTION_INVALID'))) throw error
    process.stderr.write(
      `waybill ${name}: ${error.message}\nusage: waybill ${name} ${command.synopsis}\n` +
        `\`waybill ${name} --help\` explains it\n`,
    )
    return command.usageExitCode ?? 2
  }
}

main(wordsOf(process.argv[1], process.argv.slice(2), queueOfEnvironment())).then(
  (exitCode) => {
    if (exitCode !== undefined) process.exitCode = exitCode
  },
  (error: unknown) => {
    process.stderr.write(complaint(`waybill: ${lineOf(error)}\n${wayOutOf(error, 'DIR')}`))
    process.exitCode = 1
  },
)
