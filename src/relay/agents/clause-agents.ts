/** Agents in front of transports, where ZMailer's clauses name a command.
 * Invariant: where the clause of a destination has a command, an agent delivers, and else the
 * transport; which, is asked at each attempt. Everything that can be wrong with a command is found
 * by `check`, before a relay starts or reloads: an agent that cannot start would put mail off until
 * it is returned.
 * @see ZMailer manual, Scheduler: command, user, group, idlemax, overfeed, bychannel */
import { access, constants, stat } from 'node:fs/promises'
import { isAbsolute, join, resolve } from 'node:path'
import { checkOptionNames, textOption, type OptionNames } from '../../base/options.js'
import { thrownText } from '../../base/realms.js'
import type { Transport } from '../../delivery/transport.js'
import { WaybillError } from '../../errors.js'
import { commandWords, expandedWords } from '../../policy/command-words.js'
import type { ZmailerSettings } from '../../policy/zmailer-clauses.js'
import { agentCountDefault } from '../../policy/zmailer-lookup.js'
import type { ZmailerPolicy } from '../../policy/zmailer-policy.js'
import { accountOf, type AgentAccount } from './agent-account.js'
import { AgentPools } from './agent-pools.js'
import type { AgentProgram } from './agent-process.js'
import type { WorkTerms } from './agent-work.js'
import { agentPath, agentTimeoutMs, startsPerSecondDefault } from './pipe-transport.js'

export interface ClauseAgentsOptions {
  /** The clauses, as they are now. */
  readonly policy: () => ZmailerPolicy | undefined
  /** Where programs are that are not named by an absolute path ($MAILBIN/ta). */
  readonly directory: string
  /** Agents started in a second, all together (-R). Default 20. */
  readonly startsPerSecondMax?: number | undefined
  /** Descriptors of each agent (-N). Default: as many as this process. */
  readonly fileCountMax?: number | undefined
  /** Agents may run as root. Default false. */
  readonly allowsRoot?: boolean | undefined
}

const optionNames: OptionNames<ClauseAgentsOptions> = {
  policy: true,
  directory: true,
  startsPerSecondMax: true,
  fileCountMax: true,
  allowsRoot: true,
}

const noHost = { kind: 'failed', status: '5.1.2', reason: 'the destination is no host name' } as const
const hostPattern = /^(?!-)(?!.*\.\.)[\w.:[\]-]+$/

export class ClauseAgents {
  readonly #options: ClauseAgentsOptions
  readonly #pools: AgentPools
  readonly #accounts = new Map<string, Promise<AgentAccount | undefined>>()
  #userCount = 0

  /** @throws WaybillError OPTION_INVALID */
  constructor(options: ClauseAgentsOptions) {
    checkOptionNames(options, optionNames)
    this.#options = { ...options, directory: resolve(textOption('directory', options.directory)) }
    this.#pools = new AgentPools({ startsPerSecondMax: options.startsPerSecondMax ?? startsPerSecondDefault })
  }

  /** Agents that there are, idle or not. */
  get agentCount(): number {
    return this.#pools.agentCount
  }

  /** Are the programs there, and the users? @throws WaybillError POLICY_INVALID with
   * the clause's line */
  async check(policy: ZmailerPolicy): Promise<void> {
    for (const { settings, lines } of policy.clauses) {
      const { command, user = '', group = '' } = settings
      try {
        await this.#account(user, group)
      } catch (error) {
        throw atLine(error, lines.user ?? lines.group)
      }
      if (command === undefined) continue
      const path = this.#program(commandWords(command)?.[0] ?? '')
      // The name of a program may depend on the destination.
      if (path.includes('$')) continue
      await checkProgram(path).catch((error: unknown) => {
        throw atLine(error, lines.command)
      })
    }
  }

  /** @param name the channel @param transport for destinations without a command */
  before(name: string, transport: Transport): Transport {
    this.#userCount++
    return {
      get sources() {
        return transport.sources
      },
      deliver: (request, signal) => {
        const settings = this.#options.policy()?.settingsFor(name, request.nexthop)
        if (settings === undefined || settings.command === '') return transport.deliver(request, signal)
        return this.#deliver(name, settings, request, signal)
      },
      close: () => {
        transport.close?.()
        if (--this.#userCount === 0) this.#pools.close()
      },
    }
  }

  async #deliver(
    channel: string,
    settings: ZmailerSettings,
    ...[request, signal]: Parameters<Transport['deliver']>
  ): ReturnType<AgentPools['deliver']> {
    const { command, user, group, bychannel } = settings
    // The sender of a message may choose its destination: no option of a program, and no path.
    if (command.includes('$host') && !hostPattern.test(request.nexthop))
      return request.recipients.map(() => noHost)
    const place = { channel, host: request.nexthop }
    const [program = '', ...more] = expandedWords(commandWords(command) ?? [], place)
    const words = [this.#program(program), ...more]
    const account = await this.#account(user, group)
    const { ring } = this.#options.policy()!.limitsFor(channel, request.nexthop)
    const key = JSON.stringify([words, account, bychannel ? channel : ''])
    const started = (): AgentProgram => this.#programOf(words, account)
    return this.#pools.deliver(key, started, termsOf(settings, channel, ring), { channel, request, signal })
  }

  #programOf(words: readonly string[], account: AgentAccount | undefined): AgentProgram {
    return {
      words,
      account,
      fileCountMax: this.#options.fileCountMax,
      directory: undefined,
      environment: { PATH: agentPath },
      timeoutMs: agentTimeoutMs,
    }
  }

  #program(word: string): string {
    return isAbsolute(word) ? word : join(this.#options.directory, word)
  }

  #account(user: string, group: string): Promise<AgentAccount | undefined> {
    const key = `${user}:${group}`
    const known = this.#accounts.get(key)
    if (known !== undefined) return known
    const asked = accountOf({ user, group, allowsRoot: this.#options.allowsRoot ?? false })
    this.#accounts.set(key, asked)
    // A user may be made meanwhile.
    asked.catch(() => this.#accounts.delete(key))
    return asked
  }
}

function termsOf(settings: ZmailerSettings, channel: string, ring: string): WorkTerms {
  const { maxring, maxchannel, maxta, idlemaxMs, overfeed } = settings
  const bounds = {
    [`ring ${ring}`]: maxring || agentCountDefault,
    [`channel ${channel}`]: maxchannel || agentCountDefault,
    all: maxta || agentCountDefault,
  }
  return { bounds, overfeed, idleMs: idlemaxMs }
}

async function checkProgram(path: string): Promise<void> {
  await access(path, constants.X_OK)
  // A directory may be entered, which is the same permission.
  if (!(await stat(path)).isFile()) throw new Error(`'${path}' is no program`)
}

function atLine(error: unknown, line: number | undefined): WaybillError {
  const words = thrownText(error)
  return new WaybillError('POLICY_INVALID', words, line === undefined ? {} : { line }, error)
}
