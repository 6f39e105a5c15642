/** Judges the fortnight by what the documents say.
 * Invariant: nothing here asks the engine. When mail had to arrive, to bounce or to expire follows
 * from the sites' times and Postfix's parameters alone. Why each bound is what it is: README.md. */
import type { Ledger, LedgerRules, Message, Recipient } from './ledger.js'
import { flood } from './mail.js'
import { dayMs, floodSite, hourMs, longestOpenMs, minuteMs, siteOf } from './sites.js'

const minimalBackoffMs = 300_000
const maximalBackoffMs = 4_000_000
export const lifetimeMs: number = 5 * dayMs
export const warningAgeMs: number = 4 * hourMs

/** Deliveries before it, a checkpoint, and a reboot. */
const slackMs = 2 * minuteMs
/** 5000 deliveries of 20 s, 20 at once. */
const floodWaitMs = 2 * hourMs

/** How long a message may wait for other mail of its sites: it is put off when all its recipients
 * have been tried. */
function waitMs({ recipients }: Message): number {
  for (const address of recipients.keys())
    if (siteOf(address).domain === floodSite) return slackMs + floodWaitMs
  return slackMs
}

/** A site that is open for so long has got its mail: an attempt finds it dead, the mail is put off
 * once more. */
const openMs = (message: Message): number => minimalBackoffMs + maximalBackoffMs + waitMs(message)

/** The intervals between attempts, judged while they happen. */
export function intervalRules(ledger: Ledger): LedgerRules {
  const judge = (message: Message, recipient: Recipient, atMs: number): void => {
    const sinceMs = recipient.lastDeferralMs ?? message.acceptedMs
    const waitMsMax = (recipient.lastDeferralMs === undefined ? 0 : maximalBackoffMs) + waitMs(message)
    if (atMs - sinceMs > waitMsMax)
      ledger.complain(`${recipient.address} of ${message.id} waits for ${atMs - sinceMs} ms`)
    const isNewLife = ledger.powerLossesMs.some((lostMs) => sinceMs <= lostMs && lostMs <= atMs)
    if (recipient.lastDeferralMs !== undefined && atMs - sinceMs < minimalBackoffMs && !isNewLife)
      ledger.complain(`${recipient.address} of ${message.id} is tried again after ${atMs - sinceMs} ms`)
  }
  return {
    attempted: judge,
    deferred: (message, recipient, atMs) => {
      // An attempt may take long; its beginning was judged.
      if ((recipient.lastAttemptMs ?? -1) <= (recipient.lastDeferralMs ?? -1)) judge(message, recipient, atMs)
      if (atMs - message.acceptedMs >= warningAgeMs) message.isLate = true
    },
  }
}

/** What is wrong, when everything has ended. */
export function* broken(ledger: Ledger): Generator<string> {
  yield* ledger.complaints
  for (const message of ledger.messages.values()) {
    for (const recipient of message.recipients.values()) {
      const words = brokenBy(message, recipient)
      if (words !== undefined) yield `${recipient.address} of ${message.id} ${words}`
    }
    const { sender, warningCount, isLate, id } = message
    if (warningCount !== (sender !== '' && isLate ? 1 : 0))
      yield `${id} has ${warningCount} delay warnings, and is ${isLate ? '' : 'not '}late`
    yield* brokenReports(message)
  }
}

function brokenBy(message: Message, recipient: Recipient): string | undefined {
  const { address, end, deliveryCount } = recipient
  const { acceptedMs } = message
  if (end === undefined) return 'has not ended'
  const site = siteOf(address)
  const ageMs = end.atMs - acceptedMs
  const oldestMs = lifetimeMs + maximalBackoffMs + waitMs(message)
  if (ageMs > oldestMs) return `ends at the age of ${ageMs} ms`
  if (longestOpenMs(site, address, [acceptedMs, Math.min(end.atMs, acceptedMs + oldestMs)]) > openMs(message))
    return `has not been ${end.how} while its site was open`
  if (end.how === 'expired' && ageMs < lifetimeMs) return `expires at the age of ${ageMs} ms`
  if ((end.how === 'delivered') !== deliveryCount > 0)
    return `is ${end.how}, and arrived ${deliveryCount} times`
  if (end.how === 'bounced' && !address.startsWith('nobody')) return 'is bounced, and exists'
  const isFloodTime = acceptedMs >= flood.fromMs && acceptedMs < flood.fromMs + flood.forMs + floodWaitMs
  if (isFloodTime && site.domain === 'big.example' && ageMs > minuteMs) return 'waits for the flood'
  return undefined
}

function* brokenReports(message: Message): Generator<string> {
  const { id, sender, failureReportCount, warningCount, readCount, recipients } = message
  if (sender === '' && failureReportCount + warningCount > 0) yield `${id} is a report, and reported`
  if (sender === '') return
  const failed = [...recipients.values()].filter(({ end }) => end?.how !== 'delivered')
  if (failureReportCount > failed.length) yield `${id} has ${failureReportCount} reports`
  if (failed.length > 0 && failureReportCount === 0) yield `${id} has no report`
  // A report that expires unread names nobody to anybody.
  if (readCount < failureReportCount + warningCount) return
  for (const { address, end, namedCount } of recipients.values())
    if (namedCount !== (end?.how === 'delivered' ? 0 : 1))
      yield `${address} of ${id} is ${end?.how}, and named by ${namedCount} reports`
}
