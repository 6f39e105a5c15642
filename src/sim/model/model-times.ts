/** Checks attempts and ends against the times that submitters gave: nothing is early, and where no
 * other cause keeps mail waiting nothing is late.
 * Invariant: a message that may have been requeued, and any message after a set clock, is only
 * allowed to be given up at its time; nothing else is checked. */
import type { Attempt } from './model-attempt.js'
import type { LifeFacts } from './model-life.js'
import { wasDeferred, type ModelMessage } from './model-message.js'
import { isOrdered } from './model-orders.js'
import type { SteadyTime } from './steady-time.js'
import type { Violate } from './violation.js'

type Punctuality = Pick<LifeFacts, 'isPunctual' | 'beginsAtMs'>

/** What a message may be late. */
const lateMsMax = 1000

export function judgeTimes(
  { name, times, mayBeNew, mayBeHeld, recipients }: ModelMessage,
  attempt: Pick<Attempt, 'wallMs' | 'recipients'>,
  { isPunctual, beginsAtMs }: Punctuality,
  violate: Violate,
): void {
  if (mayBeNew) return
  const { notBefore, expiresAt } = times
  const { wallMs } = attempt
  if (wallMs < notBefore) violate('O6', `${name} is attempted ${notBefore - wallMs} ms before its time`)
  if (expiresAt > 0 && wallMs > expiresAt + lateMsMax)
    violate('O6', `${name} is attempted ${wallMs - expiresAt} ms after it expired`)
  if (!isPunctual || mayBeHeld || notBefore === 0) return
  const isFirst = attempt.recipients.every((address) => recipients.get(address)?.life === 0)
  const dueAtMs = Math.max(notBefore, beginsAtMs)
  if (isFirst && wallMs > dueAtMs + lateMsMax)
    violate('O6', `${name} is attempted ${wallMs - dueAtMs} ms after its time`)
}

/** How it ended: given up by an order, or because it was old enough.
 * @param lifetimeMs age at which it may be given up, where it has no time for that */
export function noteEnd(
  message: ModelMessage,
  { wallMs, lifetimeMs }: { readonly wallMs: number; readonly lifetimeMs: number },
  steady: SteadyTime,
  life: Punctuality,
  violate: Violate,
): void {
  const isOld =
    (steady.hasStepped ? undefined : isOver(message, wallMs, lifetimeMs)) ??
    (message.wasOld || steady.ageMost(message, wallMs) >= lifetimeMs)
  message.expired =
    (isOld && (message.about === undefined || wasDeferred(message))) || isOrdered(message, 'expire')
  message.deleted = isOrdered(message, 'delete')
  const isGivenUp = [...message.recipients.values()].some(({ final }) => final === undefined)
  if (isGivenUp && message.expired) judgeExpiry(message, wallMs, life, violate)
}

/** Was it old enough by the times that it was given? @returns undefined where they do not say: it
 * was given none, or may have been made new, without them */
function isOver({ times, mayBeNew }: ModelMessage, wallMs: number, lifetimeMs: number): boolean | undefined {
  const { notBefore, expiresAt } = times
  const hasExpired = expiresAt > 0 && wallMs >= expiresAt
  if (mayBeNew) return hasExpired ? true : undefined
  if (notBefore === 0 && expiresAt === 0) return undefined
  return expiresAt > 0 ? hasExpired : wallMs - notBefore >= lifetimeMs
}

function judgeExpiry(
  { name, times, mayBeNew, mayBeHeld }: ModelMessage,
  wallMs: number,
  { isPunctual, beginsAtMs }: Punctuality,
  violate: Violate,
): void {
  const { expiresAt } = times
  if (!isPunctual || mayBeNew || mayBeHeld || expiresAt === 0) return
  const lateMs = wallMs - Math.max(expiresAt, beginsAtMs)
  if (lateMs > lateMsMax) violate('O6', `${name} expires ${lateMs} ms after its time`)
}

/** What the queue says of its tags. */
export function judgeTags({ times }: ModelMessage, tags: readonly string[] = [], violate: Violate): void {
  if (JSON.stringify(tags) !== JSON.stringify(times.tags))
    violate('O6', `it has the tags ${JSON.stringify(tags)}, not ${JSON.stringify(times.tags)}`)
}
