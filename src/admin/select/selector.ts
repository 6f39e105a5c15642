/** Selects messages: every given member must match.
 * Invariant: an undefined member is refused, not left out:
 *    1. delete({ sender: user.address })
 *    2. the address is undefined
 *    3. all mail is deleted */
import { comparableDomain, comparableDomainOf, includeWanted } from '../../base/mail-address.js'
import { WaybillError } from '../../errors.js'
import { queueNameOf, type LaneKind, type QueueName } from '../../lane/lane.js'
import type { EnvelopeFacts } from '../../record/encoded-envelope.js'
import type { Envelope } from '../../record/envelope.js'
import type { OutcomeNote } from '../../record/outcome-note.js'
import { tagsOf } from '../../record/terms.js'
import type { EngineOptions } from '../../engine/life/options.js'
import { routeOf } from '../../engine/life/route.js'

export interface Selector {
  /** In any case: it may be typed in small letters. */
  readonly id?: string
  /** The exact sender; '' is the null sender. */
  readonly sender?: string
  /** A recipient of the message that still waits. */
  readonly recipient?: string
  /** The domain of a waiting recipient; case and a final dot do not matter. */
  readonly domain?: string
  /** The nexthop of a waiting recipient's present route; case does not matter. */
  readonly nexthop?: string
  /** `deferred` is every lane with an interval, a listing's `retry`; a number is that lane. */
  readonly lane?: QueueName | number
  /** Age in milliseconds: messages that were accepted earlier match. */
  readonly olderThan?: number
  /** How the status of a waiting recipient's last outcome begins: '4.4' or '4.4.1'. */
  readonly lastStatus?: string
  /** A tag of the message, exactly. */
  readonly tag?: string
  /** Every message: a verb needs this to be explicit. */
  readonly all?: true
}

/** The facts about a message in its envelope. */
export interface SelectedFacts {
  readonly envelope: Envelope
  /** Why its recipients still wait. */
  readonly notes: readonly OutcomeNote[]
}

const texts = ['id', 'sender', 'recipient', 'domain', 'nexthop', 'lastStatus', 'tag'] as const
const members: readonly string[] = [...texts, 'lane', 'olderThan', 'all']

/** @throws WaybillError OPTION_INVALID */
export function checkSelector(selector: Selector): void {
  if (typeof selector !== 'object' || selector === null)
    throw new WaybillError('OPTION_INVALID', `a selector has ${members.join(', ')}`, { option: 'selector' })
  const { lane, olderThan, all } = selector
  for (const [name, value] of Object.entries(selector)) {
    const place = { option: `selector.${name}` }
    if (!members.includes(name))
      throw new WaybillError('OPTION_INVALID', `a selector has ${members.join(', ')}`, place)
    if (value === undefined)
      throw new WaybillError('OPTION_INVALID', 'a member without a value does not mean every message', place)
  }
  if (all !== undefined && all !== true)
    throw new WaybillError('OPTION_INVALID', 'every message is selected by `true` alone', {
      option: 'all',
    })
  const named = ['incoming', 'active', 'deferred', 'hold']
  if (lane !== undefined && typeof lane !== 'number' && !named.includes(lane))
    throw new WaybillError('OPTION_INVALID', `a lane is ${named.join(', ')} or a number`, { option: 'lane' })
  if (olderThan !== undefined && !(typeof olderThan === 'number' && olderThan >= 0))
    throw new WaybillError('OPTION_INVALID', 'an age is a number of milliseconds, not negative', {
      option: 'olderThan',
    })
  for (const option of texts)
    if (selector[option] !== undefined && typeof selector[option] !== 'string')
      throw new WaybillError('OPTION_INVALID', 'expected a string', { option })
}

/** May messages of this lane match, apart from active ones? */
export const selectsLane = (
  { lane }: Selector,
  { number, kind }: { readonly number: number; readonly kind: LaneKind },
): boolean => lane === undefined || lane === number || lane === queueNameOf(kind)

export const selectsActive = ({ lane }: Selector): boolean => lane === undefined || lane === 'active'

/** Those that were submitted for the lane of holds, and have not come there, match as well. */
export const selectsHeld = ({ lane }: Selector): boolean => lane === 'hold'

/** Does it match every active message, also one that cannot be read? */
export const selectsUnread = (selector: Selector): boolean =>
  Object.keys(selector).every((name) => name === 'all' || (name === 'lane' && selector.lane === 'active'))

/** All conditions except those on addresses. */
export const selectsEnvelope = (
  selector: Selector,
  { envelope, notes }: SelectedFacts,
  wallMs: number,
): boolean =>
  selectsFacts(withStoredId(selector), envelope, wallMs) &&
  (selector.lastStatus === undefined || notes.some(({ status }) => status.startsWith(selector.lastStatus!)))

/** May a message match, as far as can be seen without decoding its envelope? */
export function firstTest(selector: Selector, wallMs: number): (envelope: EnvelopeFacts) => boolean {
  const { recipient, domain } = selector
  const wanted = { recipient, domain: domain === undefined ? undefined : comparableDomain(domain) }
  const asksRecipients = recipient !== undefined || domain !== undefined
  const mayHave = ({ recipientFrames, recipients }: EnvelopeFacts): boolean =>
    recipientFrames.length > 0 || includeWanted(recipients, wanted)
  const facts = withStoredId(selector)
  return (envelope) => selectsFacts(facts, envelope, wallMs) && (!asksRecipients || mayHave(envelope))
}

/** An id may be typed in small letters. */
const withStoredId = (selector: Selector): Selector =>
  selector.id === undefined ? selector : { ...selector, id: selector.id.toUpperCase() }

function selectsFacts(
  { id, sender, olderThan, tag }: Selector,
  envelope: EnvelopeFacts,
  wallMs: number,
): boolean {
  if (id !== undefined && envelope.id !== id) return false
  if (sender !== undefined && envelope.sender !== sender) return false
  if (olderThan !== undefined && wallMs - envelope.acceptedAt <= olderThan) return false
  return tag === undefined || tagsOf(envelope).includes(tag)
}

/** Must addresses be looked at? */
export const needsAddresses = ({ recipient, domain, nexthop }: Selector): boolean =>
  recipient !== undefined || domain !== undefined || nexthop !== undefined

/** The conditions on addresses, some addresses at a time. */
export class AddressMatch {
  readonly #selector: Selector
  readonly #options: Pick<EngineOptions, 'route'>
  readonly #envelope: Envelope
  readonly #domain: string | undefined
  #hasRecipient: boolean
  #hasDomain: boolean
  #hasNexthop: boolean

  constructor(selector: Selector, options: Pick<EngineOptions, 'route'>, envelope: Envelope) {
    this.#selector = selector
    this.#options = options
    this.#envelope = envelope
    this.#domain = selector.domain === undefined ? undefined : comparableDomain(selector.domain)
    this.#hasRecipient = selector.recipient === undefined
    this.#hasDomain = this.#domain === undefined
    this.#hasNexthop = selector.nexthop === undefined
  }

  /** @returns whether all conditions have been met */
  add(addresses: readonly string[]): boolean {
    const { recipient, nexthop } = this.#selector
    this.#hasRecipient ||= addresses.includes(recipient!)
    this.#hasDomain ||= addresses.some((address) => comparableDomainOf(address) === this.#domain)
    this.#hasNexthop ||= addresses.some((address) =>
      routesTo(this.#options, this.#envelope, address, nexthop!),
    )
    return this.#hasRecipient && this.#hasDomain && this.#hasNexthop
  }
}

/** In the scheduler's form, where they are one destination. */
export const isSameNexthop = (one: string, other: string): boolean =>
  comparableDomain(one) === comparableDomain(other)

function routesTo(
  options: Pick<EngineOptions, 'route'>,
  envelope: Envelope,
  address: string,
  nexthop: string,
): boolean {
  try {
    return isSameNexthop(routeOf(options, envelope, address).nexthop, nexthop)
  } catch {
    // An address without a route has no nexthop.
    return false
  }
}
