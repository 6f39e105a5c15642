/** The arguments of a tool of the project. */
import { parseArgs, type ParseArgsConfig } from 'node:util'
import { thrownText } from '../src/base/realms.js'

/** What there is none of ends the process with code 2, and says how the tool is used. */
export function saidArguments<T extends ParseArgsConfig>(
  usage: string,
  config: T,
): ReturnType<typeof parseArgs<T>> {
  try {
    return parseArgs(config)
  } catch (error) {
    refuseArguments(usage, thrownText(error))
  }
}

/** Ends the process with code 2, and says what is wrong and how the tool is used. */
export function refuseArguments(usage: string, problem: string): never {
  process.stderr.write(`${problem}\n\n${usage.trimEnd()}\n`)
  process.exit(2)
}
