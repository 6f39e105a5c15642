/** `serve --scheduler-conf FILE`: ZMailer's clauses for the relay's transports and destinations.
 * Invariant: nothing else says when mail is tried again. A reload applies the whole file, or
 * nothing of it. */
import type { Logger } from 'pino'
import { formatDuration } from '../../../src/policy/duration.js'
import { globMatches } from '../../../src/policy/glob.js'
import { zmailerPolicy, type ZmailerPolicy } from '../../../src/index.js'
import { flagOf, lineOf, UsageError, type Arguments } from '../cli/command.js'
import { agentsOption, clauseAgentsOf } from './agent-options.js'
import { policyTextOf, problemLines } from './policy-file.js'

/** The option that names the file. */
export const schedulerConfOption = 'scheduler-conf'

/** Options that would say the same. */
const others = ['retry', 'lifetime'] as const
/** Of `-o`: how long a dead site rests is not said by clauses. */
const otherParameters =
  /^(?:maximal_backoff_time|maximal_queue_lifetime|bounce_queue_lifetime|delay_warning_time)=/

/** @returns what the file says; undefined when none is named @throws UsageError with
 * every problem of it */
export async function schedulerConfOf(args: Arguments): Promise<ZmailerPolicy | undefined> {
  const path = args.one(schedulerConfOption)
  if (path === undefined) return undefined
  for (const name of others)
    if (args.isSet(name)) throw new UsageError(`${flagOf(schedulerConfOption)} or ${flagOf(name)}, not both`)
  const doubled = args.all('o').find((text) => otherParameters.test(text))
  if (doubled !== undefined) throw new UsageError(`${flagOf(schedulerConfOption)} or -o ${doubled}, not both`)
  const text = await policyTextOf(path)
  const problems = problemLines(path, text)
  if (problems.length > 0) throw new UsageError(`${flagOf(schedulerConfOption)}: ${problems.join('\n')}`)
  const policy = zmailerPolicy(text, { agents: args.isSet(agentsOption) })
  await clauseAgentsOf(args, () => policy)
    ?.check(policy)
    .catch((error: unknown) => {
      throw new UsageError(`${flagOf(schedulerConfOption)} ${path}: ${lineOf(error)}`, { cause: error })
    })
  return policy
}

/** What has no effect: clauses for channels that the relay has not, perhaps because its transports
 * have other names, and commands in a relay without agents.
 * @param transports their names */
export function tellIdleClauses(
  args: Arguments,
  policy: ZmailerPolicy,
  transports: readonly string[],
  log: Logger,
): void {
  const isUsed = ({ channel }: ZmailerPolicy['clauses'][number]): boolean =>
    transports.some((name) => globMatches(channel, name))
  const idle = policy.clauses.filter((clause) => !isUsed(clause)).map(({ line }) => line)
  if (idle.length > 0)
    log.info({ lines: idle, transports }, 'clauses on these lines apply to no transport of this relay')
  if (args.isSet(agentsOption)) return
  const commands = policy.clauses.filter(isUsed).flatMap(({ lines }) => lines.command ?? [])
  if (commands.length > 0)
    log.info(
      { lines: [...new Set(commands)] },
      `commands on these lines start nothing without ${flagOf(agentsOption)}: the transports deliver`,
    )
}

/** Delays of a policy that came by reload, for which there is no lane yet.
 * @param opened the policy with which the queue was opened */
export function tellMissingLanes(
  policy: ZmailerPolicy,
  opened: Pick<ZmailerPolicy, 'intervalsMs'>,
  log: Logger,
): void {
  const missing = policy.intervalsMs.filter((intervalMs) => !opened.intervalsMs.includes(intervalMs))
  if (missing.length === 0) return
  const delays = missing.map(formatDuration)
  log.warn({ delays }, 'these delays are rounded to others until the relay is started again')
}
