/** Who has to be named by a report, when everything has come to its end.
 * Invariant: each recipient that failed or expired is named as failed by one report, and no other recipient by any; one that is late
 * is named as that no more often than the policy warns. */
import type { ModelMessage, ReportNames } from './model-message.js'
import { scriptedEnd } from './script.js'
import type { Violate } from './violation.js'

/** @param messages all of the run, the reports among them, @param warningCountMax delay warnings that a sender gets */
export function judgeReports(
  message: ModelMessage,
  messages: Iterable<ModelMessage>,
  warningCountMax: number,
  violate: Violate,
): void {
  const { name, sender, recipients } = message
  if (sender === '') return
  const named = new Map<string, string>()
  const warningCounts = new Map<string, number>()
  let isUnread = false
  let moreCount = 0
  for (const report of messages) {
    if (report.about !== name) continue
    // A report that an operator has ended tells nobody anything.
    if (report.names === undefined) isUnread ||= report.deleted || report.expired
    moreCount += report.names?.moreCount ?? 0
    for (const address of report.names?.failed ?? []) {
      const other = named.get(address)
      if (other !== undefined)
        violate('O5', `${address} of ${name} is named by ${other} and by ${report.name}`)
      named.set(address, report.name)
    }
    for (const address of report.names?.late ?? [])
      warningCounts.set(address, (warningCounts.get(address) ?? 0) + 1)
  }
  for (const { address, final, durable, life } of recipients.values()) {
    const isDue = final !== 'delivered' && (scriptedEnd(address) !== 'delivered' || message.expired)
    if (isDue && !named.has(address) && !message.deleted && !isUnread && moreCount-- <= 0)
      violate('O1', `no report names ${address} of ${name}`)
    // A delivery of an earlier life that was not durable may have been forgotten.
    const mayWait = message.expired && !durable && life < message.finishedInLife
    if (!isDue && !mayWait && named.has(address))
      violate('O5', `a report names ${address} of ${name}, who did not fail`)
  }
  for (const [address, count] of warningCounts)
    if (!recipients.has(address) || (count > warningCountMax && !message.mayBeNew))
      violate('O5', `${count} reports say that ${name} is late for ${address}`)
}

/** Reads a report. */
export function reportNames(report: Buffer): ReportNames {
  // Long lines are folded.
  const text = report.toString('latin1').replaceAll(/\r?\n[ \t]+/g, ' ')
  const [, more = '0'] = /^([0-9]+) more recipients? (?:is|are) not listed/m.exec(text) ?? []
  const names = { failed: [] as string[], late: [] as string[], moreCount: Number(more) }
  const fields = /^Final-Recipient: rfc822; (\S+)\r?\nAction: (\S+)\r?$/gm
  for (const [, address, action] of text.matchAll(fields))
    (action === 'failed' ? names.failed : names.late).push(address!)
  return names
}
