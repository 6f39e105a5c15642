/** What senders ask to be told of (RFC 3461), written in the addresses of their recipients, behind a plus, so that every life of a run, its
 * transports and its model know the same.
 *
 * | letter | what is asked, or what becomes of a delivery |
 * |---|---|
 * | `s` `f` `d` | success, failure, delay is to be told |
 * | `n` | nothing is |
 * | `o` | the sender names an original recipient |
 * | `r` | it goes on to a server that knows nothing of this |
 * | `p` | it goes on to one that tells the sender |
 *
 * Invariant: some seeds only have it, and theirs is drawn by a generator of its own, so that the others say what they said. */
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
import type { Step } from './workload.js'

/** Of the seeds under 100 000, which tests and clues name, one of eleven; of the others every second. */
export const asks = (seed: number): boolean => seed % 11 === 0 || (seed >= 100_000 && seed % 2 === 0)

const letters: readonly string[] = ['s', 's', 'sf', 'sfd', 'sd', 'f', 'fd', 'd', 'n', 'n', '']
const ways: readonly string[] = ['', '', '', 'r', 'p']

/** The steps, with something asked of some of their recipients. */
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

/** What is asked of a recipient. */
function dsnOf(address: string): RecipientDsn {
  const tag = lettersOf(address)
  const whens = (['success', 'failure', 'delay'] as const).filter((when) => tag.includes(when[0]!))
  return {
    notify: tag.includes('n') ? 'never' : whens.length === 0 ? undefined : whens,
    orcpt: tag.includes('o') ? orcptOf(address) : undefined,
  }
}

/** Is the sender to be told when this becomes of a recipient? */
export const isTold = (address: string, when: NotifyWhen): boolean =>
  tells(notifyBits(dsnOf(address).notify)!, when)

/** Where a delivery goes. */
export function relayedOf(address: string): Relayed | undefined {
  const tag = lettersOf(address)
  if (tag.includes('p')) return 'with-dsn'
  return tag.includes('r') ? 'without-dsn' : undefined
}

/** The original recipient, when the sender names one. */
export const orcptOf = (address: string): string | undefined =>
  lettersOf(address).includes('o') ? `rfc822;original-${address}` : undefined

/** What the sender calls a message. */
export const envidOf = (sender: string, addresses: Iterable<string>): string | undefined =>
  [...addresses].some(isAsked) ? `what ${sender} sent` : undefined

/** A message as it is submitted. */
export const submitted = ({
  sender,
  recipients,
}: Step): Pick<Submission, 'sender' | 'recipients' | 'dsn' | 'idempotencyKey'> => {
  const id = envidOf(sender, recipients)
  const idempotencyKey = keyOf(sender)
  if (id === undefined) return { sender, recipients, idempotencyKey }
  return {
    sender,
    idempotencyKey,
    recipients: recipients.map((address) => ({ address, ...dsnOf(address) })),
    dsn: { id, return: 'full' },
  }
}

/** Is this what was asked for these recipients? The message may have others. */
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
