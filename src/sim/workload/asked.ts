/** DSN requests (RFC 3461), written behind a plus in the recipients' addresses, where every life
 * sees them.
 *
 * | letter | request, or fate of a delivery |
 * |---|---|
 * | `s` `f` `d` | success, failure, delay is to be reported |
 * | `n` | nothing is |
 * | `o` | the sender names an original recipient |
 * | `r` | it is relayed to a server without DSN |
 * | `p` | it is relayed to a server with DSN |
 *
 * Invariant: only some seeds have requests, drawn by a separate generator, so the others keep
 * their meaning. */
import { below, pick, type Prng } from '../../base/prng.js'
import {
  notifyBits,
  tells,
  type NotifyWhen,
  type RecipientDsn,
  type Relayed,
} from '../../base/notification.js'
import type { DeliveryRequest, RequestDsn } from '../../delivery/transport.js'
import type { Submission } from '../../engine/accept/submission.js'
import { keyOf } from './keyed.js'
import { asTerms } from './timed.js'
import type { Step } from './workload.js'

/** One of eleven seeds under 100 000, which tests and clues name; every second of the others. */
export const asks = (seed: number): boolean => seed % 11 === 0 || (seed >= 100_000 && seed % 2 === 0)

const letters: readonly string[] = ['s', 's', 'sf', 'sfd', 'sd', 'f', 'fd', 'd', 'n', 'n', '']
const ways: readonly string[] = ['', '', '', 'r', 'p']

/** The steps, with requests for some of their recipients. */
export const asked = (steps: readonly Step[], prng: Prng): Step[] =>
  steps.map((step) => {
    // A crowd asks the same of most, as crowds do.
    const common = tagOf(prng)
    const isCrowd = step.recipients.length > 10
    return {
      ...step,
      recipients: step.recipients.map((address) => {
        const isOther = !isCrowd || below(prng, 20) === 0
        const tag = below(prng, 4) === 0 ? '' : isOther ? tagOf(prng) : common
        return tag === '' ? address : address.replace('@', `+${tag}@`)
      }),
    }
  })

const tagOf = (prng: Prng): string =>
  pick(prng, letters) + (below(prng, 3) === 0 ? 'o' : '') + pick(prng, ways)

const lettersOf = (address: string): string => /\+([a-z]+)@/.exec(address)?.[1] ?? ''

const isAsked = (address: string): boolean => lettersOf(address) !== ''

/** The request of a recipient. */
function dsnOf(address: string): RecipientDsn {
  const tag = lettersOf(address)
  const whens = (['success', 'failure', 'delay'] as const).filter((when) => tag.includes(when[0]!))
  return {
    notify: tag.includes('n') ? 'never' : whens.length === 0 ? undefined : whens,
    orcpt: tag.includes('o') ? orcptOf(address) : undefined,
  }
}

/** Is this event of a recipient to be reported? */
export const isTold = (address: string, when: NotifyWhen): boolean =>
  tells(notifyBits(dsnOf(address).notify)!, when)

/** Where a delivery goes. */
export function relayedOf(address: string): Relayed | undefined {
  const tag = lettersOf(address)
  if (tag.includes('p')) return 'with-dsn'
  return tag.includes('r') ? 'without-dsn' : undefined
}

/** The original recipient, if the sender names one. */
export const orcptOf = (address: string): string | undefined =>
  lettersOf(address).includes('o') ? `rfc822;original-${address}` : undefined

/** The envelope id of a message. */
export const envidOf = (sender: string, addresses: Iterable<string>): string | undefined =>
  [...addresses].some(isAsked) ? `what ${sender} sent` : undefined

/** A message as it is submitted. @param nowMs by the wall clock */
export const submitted = ({ sender, recipients }: Step, nowMs: number): Omit<Submission, 'data'> => {
  const id = envidOf(sender, recipients)
  const asks = { idempotencyKey: keyOf(sender), ...asTerms(sender, nowMs) }
  if (id === undefined) return { sender, recipients, ...asks }
  return {
    sender,
    ...asks,
    recipients: recipients.map((address) => ({ address, ...dsnOf(address) })),
    dsn: { id, return: 'full' },
  }
}

/** Is this the request of these recipients? The message may have others. */
export function isAsAsked({ sender, recipients, dsn }: DeliveryRequest): boolean {
  if (sender === '') return dsn === undefined
  const expected: RequestDsn = {
    ret: 'full',
    envid: `what ${sender} sent`,
    recipients: recipients.map(dsnOf),
  }
  const hasNothing = dsn === undefined && !recipients.some(isAsked)
  return hasNothing || JSON.stringify(dsn) === JSON.stringify(expected)
}
