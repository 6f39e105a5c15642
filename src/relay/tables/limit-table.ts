/** The tables of `--limits` and `--shaping`: what may be sent in a time, and which replies slow
 * a site. Pure.
 * Invariant: a line that is not understood is an error with its number; none is passed over. */
import { WaybillError, type Place } from '../../errors.js'
import { readDuration } from '../../policy/duration.js'
import { GlobError, parseGlob } from '../../policy/glob.js'
import { rateExamples, readRate, type Rate } from '../../policy/rate.js'
import { limitKinds, type ReplyShaping, type SendingLimit } from '../../policy/rate-limits.js'
import { tableLines } from './table-lines.js'

/** Lines `nexthop mx.example.net 10/second`.
 * @param namesSources where mail leaves from is known
 * @throws WaybillError OPTION_INVALID */
export function limitsIn(text: string, path: string, namesSources: boolean): readonly SendingLimit[] {
  return [...tableLines(text, 'limits', path)].map(({ text: line, place }) => {
    const [kind, pattern, rate, ...more] = line.trim().split(/\s+/)
    const known = limitKinds.find((name) => name === kind)
    if (known === undefined || pattern === undefined || rate === undefined || more.length > 0)
      throw invalid(`expected ${limitKinds.join(', ')}, then a pattern and a rate such as 10/second`, place)
    if (known === 'source' && !namesSources) throw invalid('a limit by source needs --source-address', place)
    const lowered = pattern.toLowerCase()
    checkPattern(lowered, place)
    return { kind: known, pattern: lowered, ...rateOf(rate, place) }
  })
}

/** Lines `421 4.7.28 to 10/minute for 15m`. @throws WaybillError OPTION_INVALID */
export function shapingIn(text: string, path: string): readonly ReplyShaping[] {
  return [...tableLines(text, 'shaping', path)].map(({ text: line, place }) => {
    const [, reply, rate, span] = /^\s*(\S.*?)\s+to\s+(\S+)\s+for\s+(\S+)\s*$/.exec(line) ?? []
    const forMs = span === undefined ? undefined : readDuration(span)
    if (reply === undefined || rate === undefined || forMs === undefined || forMs === 0)
      throw invalid('expected words of a reply, then `to` and a rate, and `for` and a time', place)
    return { reply, forMs, ...rateOf(rate, place) }
  })
}

function rateOf(text: string, place: Place): Rate {
  const rate = readRate(text)
  if (rate === undefined) throw invalid(`'${text}' is no rate: ${rateExamples}`, place)
  return rate
}

function checkPattern(pattern: string, place: Place): void {
  try {
    parseGlob(pattern)
  } catch (error) {
    if (!(error instanceof GlobError)) throw error
    throw invalid(`'${pattern}' is no pattern: expected ${error.message}`, place)
  }
}

const invalid = (reason: string, place: Place): WaybillError =>
  new WaybillError('OPTION_INVALID', reason, place)

/** What `serve` has without --shaping; tools/deploy/shaping has the same, to be changed. The rates
 * are low enough for a site that asks for patience, and high enough that mail still goes. */
export const shapingDefault = `# Replies that slow a site: words of the reply, in order, the rate from then on, and for how long.
421 4.7.28     to 10/minute for 15m
421 4.7.0      to 10/minute for 15m
450 4.7.1 rate to 10/minute for 15m
451 4.7.1 rate to 10/minute for 15m
452 4.5.3 rate to 10/minute for 15m
4.7.0 try again later to 20/minute for 10m
421 rate limit        to 10/minute for 15m
421 too many          to 10/minute for 15m
450 too many          to 10/minute for 15m
451 too many          to 10/minute for 15m
`
