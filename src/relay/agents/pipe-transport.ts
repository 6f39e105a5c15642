/** A transport that hands mail to programs: one command, and a pool of its agents. */
import { resolve } from 'node:path'
import { checkOptionNames, integerOption, textOption, type OptionNames } from '../../base/options.js'
import type { DeliveryRequest, DeliveryResult, Transport } from '../../delivery/transport.js'
import { WaybillError } from '../../errors.js'
import { commandWords } from '../../policy/command-words.js'
import { accountOf } from './agent-account.js'
import { AgentPools } from './agent-pools.js'
import type { AgentProgram } from './agent-process.js'

export interface PipeOptions {
  /** The agent's command line, without a shell, or its words: a program in PATH, or a path. */
  readonly command: string | readonly string[]
  /** Name of the transport in requests. Default 'pipe'. */
  readonly channel?: string | undefined
  /** The most agents at once, 1 … 10 000. Default 20. */
  readonly agentCountMax?: number | undefined
  /** How many more requests an agent gets before it has reported the first, 0 … 1000. Default 0. */
  readonly overfeed?: number | undefined
  /** An agent that has had nothing to do for so long is ended, milliseconds, 1 … a day.
   * Default 3 minutes. */
  readonly idleMs?: number | undefined
  /** An agent without a report for so long is killed, milliseconds, 1 … a day. Default 1000 s, as
   * in Postfix (command_time_limit). */
  readonly timeoutMs?: number | undefined
  /** Agents started in a second, 1 … 1000. Default 20. */
  readonly startsPerSecondMax?: number | undefined
  /** Descriptors that an agent may have, 3 … 1 048 576. Default: as many as this process. */
  readonly fileCountMax?: number | undefined
  /** User and group of agents, names or numbers, where this process is root. Default: nobody,
   * never root. */
  readonly user?: string | undefined
  readonly group?: string | undefined
  /** Agents may run as root. Default false. */
  readonly allowsRoot?: boolean | undefined
  /** The agents' working directory. Default: that of this process. */
  readonly directory?: string | undefined
  /** The agents' environment. Default: PATH alone. */
  readonly environment?: Readonly<Record<string, string>> | undefined
}

const names: OptionNames<PipeOptions> = {
  command: true,
  channel: true,
  agentCountMax: true,
  overfeed: true,
  idleMs: true,
  timeoutMs: true,
  startsPerSecondMax: true,
  fileCountMax: true,
  user: true,
  group: true,
  allowsRoot: true,
  directory: true,
  environment: true,
}

const dayMs = 86_400_000
export const agentPath = '/usr/local/bin:/usr/bin:/bin'
export const agentTimeoutMs = 1_000_000
export const startsPerSecondDefault = 20

/** Agents are started when there is mail, and end with the queue, whatever ends it.
 * @throws WaybillError OPTION_INVALID */
export function pipeTransport(options: PipeOptions): Transport {
  checkOptionNames(options, names)
  const { user = '', group = '', allowsRoot = false, channel = 'pipe' } = options
  const agentCountMax = integerOption('agentCountMax', options.agentCountMax ?? 20, 1, 10_000)
  const overfeed = integerOption('overfeed', options.overfeed ?? 0, 0, 1000)
  const idleMs = integerOption('idleMs', options.idleMs ?? 180_000, 1, dayMs)
  const terms = { bounds: { all: agentCountMax }, overfeed, idleMs }
  const program = checkedProgram(options)
  const startsPerSecondMax = integerOption(
    'startsPerSecondMax',
    options.startsPerSecondMax ?? startsPerSecondDefault,
    1,
    1000,
  )
  const pools = new AgentPools({ startsPerSecondMax })
  let account: ReturnType<typeof accountOf> | undefined
  return {
    deliver: async (request: DeliveryRequest, signal: AbortSignal): Promise<DeliveryResult> => {
      const as = await (account ??= accountOf({ user, group, allowsRoot }))
      return pools.deliver('', () => ({ ...program, account: as }), terms, { channel, request, signal })
    },
    close: () => pools.close(),
  }
}

function checkedProgram(options: PipeOptions): Omit<AgentProgram, 'account'> {
  const { command, fileCountMax, directory, environment = { PATH: agentPath } } = options
  const words = typeof command === 'string' ? commandWords(command) : command
  if (!Array.isArray(words) || words.length === 0 || !words.every((word) => typeof word === 'string'))
    throw new WaybillError('OPTION_INVALID', 'a command is words, its quotes closed', { option: 'command' })
  return {
    words: words as readonly string[],
    fileCountMax:
      fileCountMax === undefined ? undefined : integerOption('fileCountMax', fileCountMax, 3, 1_048_576),
    directory: directory === undefined ? undefined : resolve(textOption('directory', directory)),
    environment,
    timeoutMs: integerOption('timeoutMs', options.timeoutMs ?? agentTimeoutMs, 1, dayMs),
  }
}
