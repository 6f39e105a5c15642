/** Checks a transport's answer.
 * Invariant: a report has one outcome per recipient, each with a status of its kind's class (4.x
 * deferred, 5.x failed) and a text without control characters. Text and name of the remote have at
 * most `textCharsMax` characters together. An answer that breaks the contract defers all
 * recipients: a bug in a transport neither loses nor returns mail, and is reported. */
import { isError, isProgramError, thrownText } from '../base/realms.js'
import { InvariantError } from '../base/assert.js'
import { countText, ownText } from '../base/text.js'
import { remoteBytesMax } from '../base/remote-reply.js'
import { isWaybillError, type WaybillError } from '../errors.js'
import type { Outcome, OutcomeTls, SiteTrouble } from './transport.js'

/** Bound of every text that an outcome carries, in UTF-16 units. */
export const textCharsMax = 500

export interface Report {
  /** One per recipient, in the order of the request. */
  readonly outcomes: readonly Outcome[]
  /** The site is in trouble; all outcomes are deferred for this reason. */
  readonly site: SiteTrouble | undefined
  /** An error for the operator: a WaybillError of the queue; any other error is a bug of
   * the transport. */
  readonly defect: Error | undefined
}

/** @param answer what `deliver` returned; may be anything. */
export function reportOf(answer: unknown, recipientCount: number): Report {
  if (Array.isArray(answer)) return reportOfMany(answer as readonly unknown[], recipientCount)
  if (isRecord(answer) && answer['kind'] === 'site') {
    const remote = remoteOf(answer['remote'])
    const site: SiteTrouble = {
      kind: 'site',
      status: statusOf(answer['status'], '4'),
      // Kept as the reason while the destination is dead.
      reason: ownText(textBeside(answer['reason'], remote)),
      remote,
    }
    return { outcomes: sameForAll(deferredBySite(site), recipientCount), site, defect: undefined }
  }
  const outcome = cleaned(answer)
  if (outcome === undefined) return brokenReport(`it answered ${shown(answer)}`, recipientCount)
  return { outcomes: sameForAll(outcome, recipientCount), site: undefined, defect: undefined }
}

/** @param error what `deliver` threw or rejected with. A programmer's error is a bug of the
 * transport, anything else trouble of its site. */
export function reportOfError(error: unknown, recipientCount: number): Report {
  try {
    return reportOfThrown(error, recipientCount)
  } catch {
    // An attempt gets its outcome even if the error's name, message or prototype are hostile.
    return brokenReport(`it threw ${safeThrownText(error)}`, recipientCount)
  }
}

function reportOfThrown(error: unknown, recipientCount: number): Report {
  if (isProgrammersError(error)) {
    return brokenReport(`${error.name}: ${error.message}${placeOf(error)}`, recipientCount, error)
  }
  if (isWaybillError(error)) return queueErrorReport(error, recipientCount)
  return reportOf({ kind: 'site', status: '4.3.0', reason: safeThrownText(error) }, recipientCount)
}

function reportOfMany(answers: readonly unknown[], recipientCount: number): Report {
  if (answers.length !== recipientCount) {
    return brokenReport(
      `it gave ${countText(answers.length, 'outcome')} for ${countText(recipientCount, 'recipient')}`,
      recipientCount,
    )
  }
  const outcomes: Outcome[] = []
  let defect: Error | undefined
  for (const answer of answers) {
    const outcome = cleaned(answer)
    if (outcome === undefined) defect ??= new InvariantError(`transport: it answered ${shown(answer)}`)
    outcomes.push(outcome ?? deferredByDefect(`it answered ${shown(answer)}`))
  }
  return { outcomes, site: undefined, defect }
}

function brokenReport(what: string, recipientCount: number, cause?: Error): Report {
  const defect = cause ?? new InvariantError(`transport: ${what}`)
  return { outcomes: sameForAll(deferredByDefect(what), recipientCount), site: undefined, defect }
}

/** The queue could not give something, mostly the data: no fault of the transport. The place is for
 * the operator, not for the sender. */
const queueErrorReport = (defect: WaybillError, recipientCount: number): Report => ({
  outcomes: sameForAll(
    {
      kind: 'deferred',
      status: '4.3.0',
      reason: `the attempt met an error of the queue: ${defect.code}`,
    },
    recipientCount,
  ),
  site: undefined,
  defect,
})

const deferredByDefect = (what: string): Outcome => ({
  kind: 'deferred',
  status: '4.3.0',
  reason: textOf(`the transport is defective: ${what}`),
})

const deferredBySite = (site: SiteTrouble): Outcome => ({
  kind: 'deferred',
  status: site.status,
  reason: site.reason,
  remote: site.remote,
})

const sameForAll = (outcome: Outcome, recipientCount: number): readonly Outcome[] =>
  recipientCount === 1 ? [outcome] : Array.from({ length: recipientCount }, () => outcome)

/** The outcome itself if nothing needs repair: the hot path copies nothing. */
function cleaned(answer: unknown): Outcome | undefined {
  if (!isRecord(answer)) return undefined
  switch (answer['kind']) {
    case 'delivered': {
      const { response, relayed } = answer
      const remote = remoteOf(answer['remote'])
      const tls = tlsOf(answer['tls'])
      const text = response === undefined ? undefined : textBeside(response, remote)
      const isKnown = relayed === undefined || relayed === 'with-dsn' || relayed === 'without-dsn'
      if (text === response && isKnown && remote === answer['remote'] && tls === answer['tls'])
        return answer as unknown as Outcome
      return { kind: 'delivered', response: text, relayed: isKnown ? relayed : undefined, remote, tls }
    }
    case 'deferred':
    case 'failed': {
      const kind = answer['kind']
      const status = statusOf(answer['status'], kind === 'deferred' ? '4' : '5')
      const remote = remoteOf(answer['remote'])
      const reason = textBeside(answer['reason'], remote)
      if (status === answer['status'] && reason === answer['reason'] && remote === answer['remote'])
        return answer as unknown as Outcome
      return { kind, status, reason, remote }
    }
    default:
      return undefined
  }
}

const statusPattern = /^[245](\.\d{1,3}\.\d{1,3})$/

function statusOf(status: unknown, statusClass: '4' | '5'): string {
  const match = typeof status === 'string' ? statusPattern.exec(status) : null
  return statusClass + (match?.[1] ?? '.3.0')
}

/** An invalid name is left out, and so are unknown members: the outcome stays. */
function remoteOf(value: unknown): string | undefined {
  const isName = typeof value === 'string' && value.length <= remoteBytesMax && /^[\x21-\x7e]+$/.test(value)
  return isName ? value : undefined
}

const tlsWord = /^[\x21-\x7e]{1,100}$/

function tlsOf(value: unknown): OutcomeTls | undefined {
  if (!isRecord(value)) return undefined
  const { version, cipher, isVerified } = value
  const isTls = typeof version === 'string' && typeof cipher === 'string' && typeof isVerified === 'boolean'
  return isTls && tlsWord.test(version) && tlsWord.test(cipher) ? (value as unknown as OutcomeTls) : undefined
}

/** The text of an outcome, cut so that the name of the remote fits, too. */
const textBeside = (value: unknown, remote: string | undefined): string =>
  textOf(value, textCharsMax - (remote?.length ?? 0))

/** Any value as a string that is safe in a log line, an SMTP reply and a header. */
export function textOf(value: unknown, charsMax: number = textCharsMax): string {
  const text = typeof value === 'string' ? value : value === undefined ? '' : shown(value)
  if (text.length <= charsMax && !/\p{Cc}/u.test(text)) return text
  const end = text.charCodeAt(charsMax - 1)
  const cut = text.length > charsMax && end >= 0xd800 && end < 0xdc00 ? charsMax - 1 : charsMax
  return ownText(text.slice(0, cut).replace(/\p{Cc}+/gu, ' '))
}

/** A thrown value as a string. */
export function safeThrownText(error: unknown): string {
  try {
    return textOf(isError(error) ? thrownText(error) : error)
  } catch {
    return 'an error that cannot be read'
  }
}

function shown(value: unknown): string {
  try {
    return isError(value) ? String(value) : (JSON.stringify(value) ?? typeof value)
  } catch {
    return typeof value
  }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

/** Of the kinds that a typing mistake raises. `fetch` reports a network that is down as a
 * TypeError with a cause. */
const isProgrammersError = (error: unknown): error is Error =>
  error instanceof InvariantError || (isProgramError(error) && error.cause === undefined)

function placeOf(error: Error): string {
  // A program that sets Error.prepareStackTrace may return anything.
  const stack: unknown = error.stack
  if (typeof stack !== 'string') return ''
  const frame = stack.split('\n').find((line) => line.startsWith('    at '))
  return frame === undefined ? '' : ` ${frame.trim()}`
}
