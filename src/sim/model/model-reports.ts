/** Checks which recipients reports name, when everything has ended.
 * Invariant: each failed or expired recipient is named as failed by one report; each delivered one
 * as delivered if its sender asked for that; no other recipient by any. Delays are reported at most
 * as often as the policy warns, and nothing against the sender's requests. */
import { envidOf, isTold, orcptOf, relayedOf } from '../workload/asked.js'
import { scriptedEnd } from '../workload/script.js'
import type { ModelMessage, ReportNames } from './model-message.js'
import type { Violate } from './violation.js'

/** @param messages all of the run, the reports among them, @param warningCountMax delay warnings
 * that a sender gets */
function judgeReports(
  message: ModelMessage,
  messages: Iterable<ModelMessage>,
  warningCountMax: number,
  violate: Violate,
): void {
  const { name, sender, recipients } = message
  if (sender === '') return
  const named = new Map<
    string,
    { readonly report: string; readonly how: 'failed' | 'delivered' | 'relayed' }
  >()
  const warningCounts = new Map<string, number>()
  let isUnread = false
  let moreCount = 0
  for (const report of messages) {
    if (report.about !== name) continue
    // A report that an operator has ended reaches nobody.
    if (report.names === undefined) isUnread ||= report.deleted || report.expired
    moreCount += report.names?.moreCount ?? 0
    for (const how of ['failed', 'delivered', 'relayed'] as const)
      for (const address of report.names?.[how] ?? []) {
        const other = named.get(address)
        if (other !== undefined)
          violate('O5', `${address} of ${name} is named by ${other.report} and by ${report.name}`)
        named.set(address, { report: report.name, how })
      }
    for (const address of report.names?.late ?? [])
      warningCounts.set(address, (warningCounts.get(address) ?? 0) + 1)
    if (report.names !== undefined) judgeWords(message, report.names, violate)
  }
  for (const { address, final, durable, life } of recipients.values()) {
    const hasFailed = final !== 'delivered' && (scriptedEnd(address) !== 'delivered' || message.expired)
    // A delivery of an earlier life that was not durable may have been forgotten.
    const mayWait = message.expired && !durable && life < message.finishedInLife
    const isDue = hasFailed
      ? isTold(address, 'failure')
      : final === 'delivered' && !mayWait && isTold(address, 'success') && relayedOf(address) !== 'with-dsn'
    if (isDue && !named.has(address) && !message.deleted && !isUnread && moreCount-- <= 0)
      violate('O1', `no report names ${address} of ${name}`)
    const how = named.get(address)?.how
    if (how === undefined) continue
    if (how === 'failed' ? !isTold(address, 'failure') : !isTold(address, 'success'))
      violate('O5', `a report says that ${address} of ${name} is ${how}, and nobody asked`)
    if (how === 'failed' && !hasFailed && !mayWait)
      violate('O5', `a report names ${address} of ${name}, who did not fail`)
    if (how !== 'failed' && (final !== 'delivered' || how !== wordOf(address)))
      violate('O5', `a report says that ${address} of ${name} is ${how}`)
  }
  for (const [address, count] of warningCounts)
    if (
      !recipients.has(address) ||
      !isTold(address, 'delay') ||
      (count > warningCountMax && !message.mayBeNew)
    )
      violate('O5', `${count} reports say that ${name} is late for ${address}`)
}

/** A report's words for a delivery; undefined: the next server reports it. */
const wordOf = (address: string): 'delivered' | 'relayed' | undefined =>
  (({ 'with-dsn': undefined, 'without-dsn': 'relayed', here: 'delivered' }) as const)[
    relayedOf(address) ?? 'here'
  ]

/** It repeats the sender's values. */
function judgeWords(
  { name, recipients }: ModelMessage,
  { envid, orcpts, failed, late, delivered, relayed }: ReportNames,
  violate: Violate,
): void {
  // An envelope that is replaced has fewer recipients, and is called the same.
  if (envid !== envidOf(name, recipients.keys())) violate('O1', `a report calls ${name} '${envid}'`)
  for (const address of [...failed, ...late, ...delivered, ...relayed])
    if (orcpts.get(address) !== orcptOf(address))
      violate('O1', `a report says that ${address} of ${name} was ${orcpts.get(address)}`)
}

/** Reads a report. */
export function reportNames(report: Buffer): ReportNames {
  // Long lines are folded.
  const text = report.toString('latin1').replaceAll(/\r?\n[ \t]+/g, ' ')
  const [, more = '0'] = /^([0-9]+) more recipients? (?:is|are) not listed/m.exec(text) ?? []
  const [, envid] = /^Original-Envelope-Id: (.*?)\r?$/m.exec(text) ?? []
  const names = { failed: [], delayed: [], delivered: [], relayed: [] } as Record<string, string[]>
  const orcpts = new Map<string, string>()
  const fields = /^(?:Original-Recipient: (\S+)\r?\n)?Final-Recipient: rfc822; (\S+)\r?\nAction: (\S+)\r?$/gm
  for (const [, orcpt, address, action] of text.matchAll(fields)) {
    names[action!]?.push(address!)
    if (orcpt !== undefined) orcpts.set(address!, orcpt)
  }
  const { failed = [], delayed: late = [], delivered = [], relayed = [] } = names
  return { failed, late, delivered, relayed, envid, orcpts, moreCount: Number(more) }
}

/** Checks that a settled message has ended when no event is left, each recipient as its address
 * says, or earlier by age or by an order.
 * @param messages all of the run, @param warningCountMax delay warnings that a sender gets */
export function judgeEnd(
  message: ModelMessage,
  messages: Iterable<ModelMessage>,
  warningCountMax: number,
  violate: Violate,
): void {
  const { name, state, recipients, expired, deleted } = message
  if (state === 'refused' || state === 'gone' || state === 'asked') return
  if (!message.finished) violate('O1', `${name} was settled and never came to its end`)
  for (const { address, final, deliveryCount } of recipients.values()) {
    const end = scriptedEnd(address)
    if (end === 'delivered' && deliveryCount === 0 && !expired && !deleted)
      violate('O1', `${name} never reached ${address}`)
    if (end !== 'delivered' && final === 'delivered')
      violate('O5', `${name} is said to have reached ${address}`)
  }
  judgeReports(message, messages, warningCountMax, violate)
}
