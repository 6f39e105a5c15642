/** Mail with its fate in its addresses, so that parent and child agree without talking.
 * Invariant: sender, recipients and data follow from seed and number alone. A server's answer
 * follows from the recipient's name and the number of earlier attempts, in every life. No two
 * messages share an address. */
import { below, seededPrng, type Prng } from '../../src/base/prng.js'
import type { Outcome } from '../../src/delivery/transport.js'

export interface NumberedMail {
  readonly number: number
  /** '' for every eleventh: nothing is ever reported to it. */
  readonly sender: string
  readonly recipients: readonly string[]
  readonly data: Buffer
}

/** Which mail is made. */
export type Mixture = 'mixed' | 'gated'

/** The behaviour of a recipient's server: ok: takes the mail · slow1, slow2: takes it after so many
 * deferrals · fail: refuses it · late: defers it once, then refuses · never: defers it until the
 * policy gives up · gate: defers it, or does not answer, until the gate is opened */
export type Fate = 'ok' | 'slow1' | 'slow2' | 'fail' | 'late' | 'never' | 'gate'

/** A message for `never` has no other recipient: the policy that gives it up would give up the
 * others with it. */
export const attemptsOfNever = 3
export const neverNexthop = 'never.test'
const recipientCountMax = 3
const domainCount = 4

export function numberedMail(seed: number, number: number, mixture: Mixture): NumberedMail {
  const prng = seededPrng(seed * 1_000_003 + number)
  const sender = number % 11 === 0 ? '' : `from.${number}@sender.test`
  const recipients: string[] = []
  if (mixture === 'mixed' && below(prng, 20) === 0) recipients.push(`never.${number}.0@${neverNexthop}`)
  else
    for (let i = 1 + below(prng, recipientCountMax); i > 0; i--)
      recipients.push(`${fate(prng, mixture)}.${number}.${i}@d${below(prng, domainCount)}.test`)
  return { number, sender, recipients, data: data(prng, number) }
}

function fate(prng: Prng, mixture: Mixture): Fate {
  const hundredth = below(prng, 100)
  if (mixture === 'gated') return hundredth < 70 ? 'gate' : 'ok'
  if (hundredth < 60) return 'ok'
  if (hundredth < 72) return 'slow1'
  if (hundredth < 82) return 'slow2'
  return hundredth < 93 ? 'fail' : 'late'
}

/** Mostly small, one in ten of some kibibytes, one in ten larger than what stands in the log. */
function data(prng: Prng, number: number): Buffer {
  const size = below(prng, 10)
  const bytes = size < 8 ? below(prng, 4000) : size === 8 ? below(prng, 30_000) : 40_000 + below(prng, 80_000)
  const lines = [`Subject: ${number}`, '']
  for (let length = 0; length < bytes;) {
    const line = `${lines.length} ${prng.uint32().toString(36)} `.padEnd(72, `${number}.`)
    lines.push(line)
    length += line.length + 2
  }
  return Buffer.from(`${lines.join('\r\n')}\r\n`)
}

/** Number of the message that the address belongs to, as sender or as recipient. */
export function numberOf(address: string): number | undefined {
  const digits = /^[a-z0-9]+\.(\d+)[.@]/.exec(address)?.[1]
  return digits === undefined ? undefined : Number(digits)
}

export const fateOf = (address: string): string => address.slice(0, address.indexOf('.'))

/** Does it end with a report, not with a delivery? */
export const isRefused = (address: string): boolean => ['fail', 'late', 'never'].includes(fateOf(address))

/** @param attempts before this one, @param gateOpen for those behind the gate */
export function outcomeFor(address: string, attempts: number, gateOpen: boolean): Outcome {
  const deferred: Outcome = { kind: 'deferred', status: '4.2.1', reason: 'not now' }
  const refused: Outcome = { kind: 'failed', status: '5.1.1', reason: 'nobody here' }
  const taken: Outcome = { kind: 'delivered' }
  switch (fateOf(address)) {
    case 'fail':
      return refused
    case 'late':
      return attempts < 1 ? deferred : refused
    case 'never':
      return deferred
    case 'slow1':
      return attempts < 1 ? deferred : taken
    case 'slow2':
      return attempts < 2 ? deferred : taken
    case 'gate':
      return gateOpen ? taken : deferred
    // Reports to every fifth sender are late.
    case 'from':
      return numberOf(address)! % 5 === 0 && attempts < 1 ? deferred : taken
    default:
      return taken
  }
}

/** Identifies a series of attempts. A message's recipients are unique; reports share theirs. */
export const keyOf = (id: string, recipient: string): string =>
  fateOf(recipient) === 'from' ? `${id} ${recipient}` : recipient
