/** Runs `waybill COMMAND …`: finds the command, and reads the words behind its name. */
import { isWaybillError } from '../../../src/errors.js'
import { nearestName } from '../cli/nearest-name.js'
import { wordsOf } from '../cli/called-as.js'
import { commandGroups, commandNameIn, commandNames, loadCommand } from './catalogue.js'
import { lineOf, parseArguments, UsageError, wayOutOf } from '../cli/command.js'
import { helpOf, overviewOf, usageOf } from './help-text.js'
import { print } from '../text/output.js'
import { queueOfEnvironment } from '../cli/queue-path.js'
import { reloadAtHangup, type HangUps } from '../serve/reload.js'
import { versionText } from '../cli/version.js'
import { asError } from '../text/journal.js'
import { complaint } from '../text/shown-text.js'

/** @param longer commands of several words that begin with the first one */
function unknownText([first = '', second]: readonly string[], longer: readonly string[]): string {
  const isPart = longer.length > 0 && second !== undefined
  if (longer.length > 0 && !isPart) return `expected one of ${longer.join(', ')}`
  const nearest = isPart
    ? longer.find((name) => name === `${first} ${nearestName(second, longer.map(lastWord))}`)
    : nearestName(first, commandNames)
  const hint = nearest === undefined ? '' : `; is it ${nearest}?`
  if (!isPart) return `no command '${first}'${hint}`
  return nearest === undefined
    ? `no command '${first} ${second}': expected one of ${longer.join(', ')}`
    : `no command '${first} ${second}'${hint}`
}

const lastWord = (name: string): string => name.split(' ').at(-1)!

async function main(words: readonly string[], hangUps: HangUps): Promise<number | undefined> {
  const [first] = words
  if (first === undefined) {
    process.stderr.write(overviewOf(commandGroups))
    return 2
  }
  if (first === '--version' || first === '-V' || first === '-v') {
    return print(`waybill ${versionText()}\n`)
  }
  if (first === '--help' || first === '-h') return main(['help', ...words.slice(1)], hangUps)
  const name = commandNameIn(words)
  if (name === 'serve') reloadAtHangup(hangUps)
  const named = name === undefined ? undefined : await loadCommand(name)
  if (name === undefined || named === undefined) {
    const longer = commandNames.filter((known) => known.startsWith(`${first} `))
    if (longer.length > 0 && ['--help', '-h'].includes(words[1] ?? '')) return main(['help', first], hangUps)
    process.stderr.write(`waybill: ${unknownText(words, longer)}; \`waybill help\` lists them\n`)
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
      asError(
        `waybill ${name}: ${error.message}\n${usageOf(name, command)}\n` +
          `\`waybill ${name} --help\` explains it\n`,
      ),
    )
    return command.usageExitCode ?? 2
  }
}

/** @param hangUps of the process until now
 * @returns the exit code; undefined while started work goes on */
export async function runCommand(
  path: string | undefined,
  words: readonly string[],
  hangUps: HangUps,
): Promise<number | undefined> {
  try {
    return await main(wordsOf(path, words, queueOfEnvironment()), hangUps)
  } catch (error) {
    process.stderr.write(asError(complaint(`waybill: ${lineOf(error)}\n${wayOutOf(error, 'DIR')}`)))
    return 1
  }
}
