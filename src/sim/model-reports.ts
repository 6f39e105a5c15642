/** Who has to be named by a report, when everything has come to its end.
 * Invariant: each recipient that failed or expired is named by one report, and no other recipient by any. */
import type { ModelMessage } from './model-message.js'
import { scriptedEnd } from './script.js'
import type { Violate } from './violation.js'

/** @param messages all of the run, the reports among them */
export function judgeReports(
  message: ModelMessage,
  messages: Iterable<ModelMessage>,
  violate: Violate,
): void {
  const { name, sender, recipients } = message
  if (sender === '') return
  const named = new Map<string, string>()
  for (const report of messages) {
    if (report.about !== name || report.names === undefined) continue
    for (const address of report.names) {
      const other = named.get(address)
      if (other !== undefined)
        violate('O5', `${address} of ${name} is named by ${other} and by ${report.name}`)
      named.set(address, report.name)
    }
  }
  for (const { address, final } of recipients.values()) {
    const isDue = final !== 'delivered' && (scriptedEnd(address) !== 'delivered' || message.expired)
    if (isDue && !named.has(address) && !message.deleted)
      violate('O1', `no report names ${address} of ${name}`)
    if (!isDue && named.has(address)) violate('O5', `a report names ${address} of ${name}, who did not fail`)
  }
}
