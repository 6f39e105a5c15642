/** The first test of a selector, which an envelope passes before it is decoded, never refuses what
 * the selector matches: a verb would miss mail. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  AddressMatch,
  firstTest,
  selectsEnvelope,
  type Selector,
} from '../../../src/admin/select/selector.js'
import { domainOf } from '../../../src/base/mail-address.js'
import { mayMatch, type Selection } from '../../../src/inspect/messages/queued-message.js'
import type { Envelope } from '../../../src/record/envelope.js'
import { anyEnvelope } from '../../record/arbitraries.js'

const wallMs = 2 ** 41
const options = { route: (address: string) => ({ transport: 'smtp', nexthop: domainOf(address) }) }

const anyAddress = fc.constantFrom('a@example.org', 'b@example.org', 'a@EXAMPLE.net.', 'ä@exämple.org', '')

const anyMail = fc
  .record({
    envelope: anyEnvelope,
    sender: anyAddress,
    recipients: fc.array(anyAddress, { minLength: 1, maxLength: 4 }),
    inFrames: fc.boolean(),
    age: fc.nat(2000),
  })
  .map(({ envelope, sender, recipients, inFrames, age }) => ({
    recipients,
    envelope: {
      ...envelope,
      sender,
      acceptedAt: wallMs - age,
      recipients: inFrames ? [] : recipients,
      recipientFrames: inFrames ? [1000] : [],
      recipientCount: recipients.length,
    } satisfies Envelope,
  }))

const waiting = {
  where: 'deferred',
  lane: 1,
  dueAt: 0,
  waiting: undefined,
  waitingCount: 1,
  active: undefined,
  uncertain: false,
} as const

const anyDomain = fc.constantFrom('example.org', 'Example.NET', 'exämple.org', '')

const members = {
  id: fc.constantFrom('own', 'other'),
  sender: anyAddress,
  recipient: anyAddress,
  domain: anyDomain,
  nexthop: anyDomain,
  olderThan: fc.nat(2000),
  lastStatus: fc.constantFrom('4', '4.4.1', '5'),
  tag: fc.constantFrom('own', 'other'),
}

/** One to three members, which often match. */
const anySelector = fc
  .tuple(
    fc.record(members),
    fc.subarray(Object.keys(members) as (keyof typeof members)[], { minLength: 1, maxLength: 3 }),
  )
  .map(([all, names]): Partial<typeof all> => Object.fromEntries(names.map((name) => [name, all[name]])))

const ownTag = ({ terms }: Envelope): string => terms?.tags[0] ?? 'none'

test('what a selector matches passes its first test, and the one of inspections', () => {
  let matchCount = 0
  let refusedCount = 0
  fc.assert(
    fc.property(anyMail, anySelector, ({ envelope, recipients }, drawn) => {
      const selector: Selector = {
        ...drawn,
        ...(drawn.id === 'own' && { id: envelope.id }),
        ...(drawn.tag === 'own' && { tag: ownTag(envelope) }),
      }
      const isMatch =
        selectsEnvelope(selector, { envelope, notes: envelope.notes }, wallMs) &&
        new AddressMatch(selector, options, envelope).add(recipients)
      const { olderThan = -1, ...same } = selector
      const selection: Selection = { ...same, acceptedUntil: wallMs - olderThan - 1 }
      const domain = selector.domain?.toLowerCase()
      const isPassed = [
        firstTest(selector, wallMs)(envelope),
        mayMatch({ ...waiting, envelope }, { ...selection, domain }),
      ]
      if (isMatch) matchCount++
      if (!isPassed[0]) refusedCount++
      expect(isMatch && isPassed.includes(false)).toBe(false)
    }),
    { numRuns: 2000 },
  )
  expect(Math.min(matchCount, refusedCount)).toBeGreaterThan(100)
})

test('an id selects its message in small letters too', () => {
  const [mail] = fc.sample(anyMail, { numRuns: 1, seed: 1 })
  const message = { envelope: { ...mail!.envelope, id: '1M8MK3N9YM1DBQ6T' as Envelope['id'] }, notes: [] }
  const selects = (id: string): boolean => selectsEnvelope({ id }, message, wallMs)
  expect([selects('1m8mk3n9ym1dbq6t'), selects('1M8MK3N9YM1DBQ6T')]).toEqual([true, true])
  expect(selects('1m8mk3n9ym1dbq6v')).toBe(false)
})
