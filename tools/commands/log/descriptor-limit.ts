/** The limit of file descriptors (`ulimit -n`), which has a line at the start when it is too low.
 * Why: the system's library accepts a client when no descriptor is left, and closes it. The
 * client gets no reply, and the relay no error.
 * @see nginx "worker_connections exceed open file resource limit" */
import { readFile } from 'node:fs/promises'
import type { Logger } from 'pino'
import { isVerdict } from '../../../src/relay/tables/route-verdict.js'

/** Files of the queue and the program, and clients of other ports than those for mail. */
const othersCount = 300

/** A connection and data; or two connections, of which one is idle. */
const perAttempt = 2

/** @param sessionsMax of clients that may relay, and as many of strangers
 * @param processLimits attempts at once, by transport
 * @returns descriptors that are needed when all limits are met */
export function descriptorsNeeded(sessionsMax: number, processLimits: ReadonlyMap<string, number>): number {
  const transports = [...processLimits].filter(([name]) => !isVerdict(name))
  return 2 * sessionsMax + transports.reduce((sum, [, limit]) => sum + perAttempt * limit, othersCount)
}

/** Node has raised the soft limit to the hard one. @param limits as `/proc/self/limits` shows them
 * @returns undefined where there is none, or it is not shown */
export function descriptorLimitOf(limits: string): number | undefined {
  const soft = /^Max open files +(\d+) /m.exec(limits)?.[1]
  return soft === undefined ? undefined : Number(soft)
}

export async function tellDescriptorLimit(needed: number, log: Logger): Promise<void> {
  const limit = descriptorLimitOf(await readFile('/proc/self/limits', 'latin1').catch(() => ''))
  if (limit !== undefined && limit < needed)
    log.warn(
      { limit, needed },
      'too few file descriptors for all sessions and deliveries: raise `ulimit -n` (LimitNOFILE), or lower --sessions',
    )
}
