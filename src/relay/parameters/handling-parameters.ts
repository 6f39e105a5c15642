/** Reads the parameters of MAIL for times and priority: FUTURERELEASE (RFC 4865), DELIVERBY
 * (RFC 2852) and MT-PRIORITY (RFC 6710). They are offered to clients that may relay, and to no
 * other: a stranger could fill the queue for months.
 * Invariant: an invalid value is refused with 501, never passed over. */
import type { SMTPServerAddress } from 'smtp-server'
import type { Priority } from '../../record/envelope.js'
import { ReplyError } from './reply-error.js'

type Parameters = SMTPServerAddress['args']

export const handlingParameters: readonly string[] = ['HOLDFOR', 'HOLDUNTIL', 'BY', 'MT-PRIORITY']

/** A year, in seconds. */
const holdSecondsMax = 31_536_000

/** As EHLO tells them. @param nowMs by the wall clock */
export const handlingExtensions = (nowMs: number): readonly string[] => [
  `FUTURERELEASE ${holdSecondsMax} ${secondsText(nowMs + holdSecondsMax * 1000)}`,
  'DELIVERBY',
  'MT-PRIORITY',
]

/** As a submission has it; nothing where nothing is asked. */
export interface Handling {
  readonly notBefore?: number
  readonly expiresAt?: number
  readonly warnAt?: number
  readonly priority?: Priority
}

/** @param nowMs by the wall clock @throws ReplyError */
export function senderHandling(parameters: Parameters, nowMs: number): Handling {
  if (!parameters) return {}
  const { HOLDFOR: holdFor, HOLDUNTIL: holdUntil, BY: by, 'MT-PRIORITY': priority } = parameters
  if (holdFor !== undefined && holdUntil !== undefined) throw wrong('HOLDFOR and HOLDUNTIL: one of them')
  const notBefore =
    holdFor !== undefined
      ? holdForOf(holdFor, nowMs)
      : holdUntil !== undefined
        ? holdUntilOf(holdUntil, nowMs)
        : undefined
  const handling = {
    ...(notBefore === undefined ? undefined : { notBefore }),
    ...(by === undefined ? undefined : byOf(by, nowMs)),
    ...(priority === undefined ? undefined : { priority: priorityOf(priority) }),
  }
  const { expiresAt = Infinity } = handling as Handling
  if (notBefore !== undefined && expiresAt <= notBefore)
    throw wrong('BY is over before the message is released')
  return handling
}

function holdForOf(value: string | true, nowMs: number): number {
  const text = String(value)
  if (!/^\d{1,9}$/.test(text) || Number(text) > holdSecondsMax) throw wrongValue('HOLDFOR')
  return nowMs + Number(text) * 1000
}

/** An Internet date and time in UTC (RFC 3339). One that has passed is now. */
function holdUntilOf(value: string | true, nowMs: number): number {
  const text = String(value).toUpperCase()
  const atMs = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(text) ? Date.parse(text) : NaN
  if (!(atMs <= nowMs + (holdSecondsMax + 1) * 1000)) throw wrongValue('HOLDUNTIL')
  return Math.max(Math.ceil(atMs), nowMs)
}

/** `R`: returned when it is not delivered by then; `N`: the sender gets a report. A trace (`T`) is
 * reported with the success that the client asks for. */
function byOf(value: string | true, nowMs: number): Pick<Handling, 'expiresAt' | 'warnAt'> {
  const [, seconds = '', mode = ''] = /^(-?\d{1,9});([NR])T?$/i.exec(String(value)) ?? []
  if (mode === '') throw wrongValue('BY')
  const atMs = nowMs + Number(seconds) * 1000
  if (mode.toUpperCase() === 'N') return { warnAt: Math.max(atMs, nowMs) }
  if (atMs <= nowMs) throw wrongValue('BY')
  return { expiresAt: atMs }
}

/** Three bands of ours for 19 of RFC 6710: those above 0 go before all others, those below
 * behind. */
function priorityOf(value: string | true): Priority {
  const text = String(value)
  if (!/^(-?[1-9]|0)$/.test(text)) throw wrongValue('MT-PRIORITY')
  return text === '0' ? 'normal' : text.startsWith('-') ? 'low' : 'high'
}

const secondsText = (atMs: number): string => `${new Date(atMs).toISOString().slice(0, 19)}Z`

const wrongValue = (name: string): ReplyError => wrong(`${name} has an invalid value`)

const wrong = (text: string): ReplyError => new ReplyError({ code: 501, enhanced: '5.5.4' }, text)
