/** Checks options that the embedder makes: a policy, and the scheduler's parameters. */
import { checkOptionNames, integerOption } from '../../base/options.js'
import { WaybillError } from '../../errors.js'
import { parseGlob } from '../../policy/glob.js'
import type { RetryPolicy } from '../../policy/retry-policy.js'
import { rateCountMax, rateMsMax } from '../../policy/rate.js'
import { limitKinds, type ReplyShaping, type SendingLimit } from '../../policy/rate-limits.js'
import { checkedParameters } from '../../scheduler/parameter-bounds.js'
import type { QueueOptions } from './options.js'

/** Lanes and checkpoints are made of these: what a policy of somebody else's answers is checked
 * before anything is written. */
export function checkPolicy(policy: RetryPolicy): RetryPolicy {
  const { intervalsMs, bounceQueueLifetimeMs, delayWarningAgesMs } = policy
  if (!Array.isArray(intervalsMs) || intervalsMs.length === 0)
    throw new WaybillError('OPTION_INVALID', 'a policy has at least one interval', {
      option: 'retry.intervalsMs',
    })
  for (const intervalMs of intervalsMs as readonly number[])
    integerOption('retry.intervalsMs', intervalMs, 1, 2 ** 40)
  if (new Set(intervalsMs).size !== intervalsMs.length)
    throw new WaybillError('OPTION_INVALID', 'an interval is named twice', { option: 'retry.intervalsMs' })
  if (typeof policy.decide !== 'function')
    throw new WaybillError('OPTION_INVALID', 'a policy has decide()', { option: 'retry.decide' })
  for (const name of ['limitsFor', 'processLimitFor'] as const)
    if (policy[name] !== undefined && typeof policy[name] !== 'function')
      throw new WaybillError('OPTION_INVALID', 'expected a function', { option: `retry.${name}` })
  if (!(bounceQueueLifetimeMs >= 0))
    throw new WaybillError('OPTION_INVALID', `${bounceQueueLifetimeMs} is no age in milliseconds`, {
      option: 'retry.bounceQueueLifetimeMs',
    })
  if (!Array.isArray(delayWarningAgesMs) || !delayWarningAgesMs.every((ageMs) => ageMs >= 0))
    throw new WaybillError('OPTION_INVALID', 'a policy has a list of ages in milliseconds, [] for none', {
      option: 'retry.delayWarningAgesMs',
    })
  return policy
}

/** @throws WaybillError OPTION_INVALID for a transport without `deliver` */
export function checkTransports(transports: QueueOptions['transports']): void {
  for (const [name, transport] of Object.entries(transports))
    if (typeof transport?.deliver !== 'function')
      throw new WaybillError('OPTION_INVALID', `the transport has no deliver()`, {
        option: `transports.${name}`,
      })
}

/** Checks the scheduler's options. An unknown transport is refused: as `retryTransport` it would
 * end each life at its first entry, and limits under its name would limit nothing.
 * @throws WaybillError OPTION_INVALID */
export function checkScheduler(
  scheduler: NonNullable<QueueOptions['scheduler']>,
  transports: QueueOptions['transports'],
): NonNullable<QueueOptions['scheduler']> {
  const { retryTransport } = checkedParameters(scheduler)
  if ('qmgrMessageActiveLimit' in scheduler)
    throw new WaybillError('OPTION_INVALID', 'the limit of active messages is `activeCountMax`', {
      option: 'scheduler.qmgrMessageActiveLimit',
    })
  const named = Object.keys(scheduler.transports ?? {}).map((name) => ({
    name,
    option: `transports.${name}`,
  }))
  if (retryTransport !== '') named.push({ name: retryTransport, option: 'retryTransport' })
  for (const { name, option } of named)
    if (!Object.hasOwn(transports, name))
      throw new WaybillError('OPTION_INVALID', `there is no transport '${name}'`, {
        option: `scheduler.${option}`,
      })
  return scheduler
}

const rulesMax = 10_000

/** @returns the limits with patterns in lower case @throws WaybillError OPTION_INVALID */
export function checkLimits(limits: readonly SendingLimit[]): readonly SendingLimit[] {
  const checked = listOf('limits', limits)
  checked.forEach((limit, i) => {
    const option = `limits[${i}]`
    checkOptionNames(limit, { kind: true, pattern: true, count: true, perMs: true }, option)
    const { kind, pattern, count, perMs } = limit
    if (!limitKinds.includes(kind))
      throw new WaybillError('OPTION_INVALID', `expected one of ${limitKinds.join(', ')}`, {
        option: `${option}.kind`,
      })
    checkRate(option, count, perMs)
    try {
      parseGlob(pattern)
    } catch (cause) {
      throw new WaybillError('OPTION_INVALID', 'no pattern', { option: `${option}.pattern` }, cause)
    }
  })
  return checked.map((limit) => ({ ...limit, pattern: limit.pattern.toLowerCase() }))
}

/** @returns the replies without blanks around them @throws WaybillError OPTION_INVALID */
export function checkShaping(shaping: readonly ReplyShaping[]): readonly ReplyShaping[] {
  const checked = listOf('shaping', shaping)
  checked.forEach((each, i) => {
    const option = `shaping[${i}]`
    checkOptionNames(each, { reply: true, count: true, perMs: true, forMs: true }, option)
    const { reply, count, perMs, forMs } = each
    if (typeof reply !== 'string' || reply.trim() === '')
      throw new WaybillError('OPTION_INVALID', 'expected words of a reply', { option: `${option}.reply` })
    checkRate(option, count, perMs)
    integerOption(`${option}.forMs`, forMs, 1, rateMsMax)
  })
  return checked.map((each) => ({ ...each, reply: each.reply.trim() }))
}

function checkRate(option: string, count: number, perMs: number): void {
  integerOption(`${option}.count`, count, 1, rateCountMax)
  integerOption(`${option}.perMs`, perMs, 1, rateMsMax)
}

function listOf<T>(option: string, value: readonly T[]): readonly T[] {
  if (!Array.isArray(value) || value.length > rulesMax)
    throw new WaybillError('OPTION_INVALID', `expected a list of at most ${rulesMax}`, { option })
  value.forEach((one: unknown, i) => {
    if (typeof one !== 'object' || one === null)
      throw new WaybillError('OPTION_INVALID', 'expected an object', { option: `${option}[${i}]` })
  })
  return value
}
