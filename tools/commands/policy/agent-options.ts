/** Options of `serve` for delivery agents.
 * Invariant: without `--agents` a clause's command starts nothing: it ends the search for clauses,
 * as always, and the transport of its channel delivers. */
import { resolve } from 'node:path'
import { ClauseAgents, type ZmailerPolicy } from '../../../src/index.js'
import { flagOf, UsageError, type Arguments, type Option } from '../cli/command.js'
import { parseCount } from '../cli/values.js'

export const agentsOption = 'agents'
const filesOption = 'agent-files'
const startsOption = 'agent-starts'
const rootOption = 'agents-as-root'

export const agentOptions: Readonly<Record<string, Option>> = {
  [agentsOption]: {
    value: 'DIR',
    help: 'start the commands of --scheduler-conf as delivery agents; DIR has their programs\n(the transport of the channel delivers)',
  },
  [filesOption]: { value: 'N', help: 'descriptors that an agent may have (as many as the relay)' },
  [startsOption]: { value: 'N', help: 'agents that may be started in a second (20)' },
  [rootOption]: { help: 'agents may be root, where a clause says user=root (nobody)' },
}

export interface AgentOptions {
  readonly fileCountMax?: number
  readonly startsPerSecondMax?: number
  readonly allowsRoot: boolean
}

/** @throws UsageError */
export function agentOptionsOf(args: Arguments): AgentOptions {
  const files = args.one(filesOption)
  const starts = args.one(startsOption)
  const startsPerSecondMax = starts === undefined ? undefined : parseCount(startsOption, starts, 1)
  const fileCountMax = files === undefined ? undefined : parseCount(filesOption, files, 3)
  if ((startsPerSecondMax ?? 0) > 1000) throw new UsageError(`${flagOf(startsOption)} is at most 1000`)
  if ((fileCountMax ?? 0) > 1_048_576) throw new UsageError(`${flagOf(filesOption)} is at most 1048576`)
  return {
    allowsRoot: args.isSet(rootOption),
    ...(startsPerSecondMax === undefined ? undefined : { startsPerSecondMax }),
    ...(fileCountMax === undefined ? undefined : { fileCountMax }),
  }
}

/** @param policy the clauses, as they are at each attempt
 * @returns undefined without the option @throws UsageError */
export function clauseAgentsOf(
  args: Arguments,
  policy: () => ZmailerPolicy | undefined,
): ClauseAgents | undefined {
  const directory = args.one(agentsOption)
  if (directory === undefined) return undefined
  if (!args.isSet('scheduler-conf'))
    throw new UsageError(`${flagOf(agentsOption)} is for the commands of --scheduler-conf`)
  return new ClauseAgents({ ...agentOptionsOf(args), directory: resolve(directory), policy })
}
