/** Checks the end of each message when no event is left.
 * Invariant: every settled message has ended, and each recipient as its address says, or earlier by
 * age or by an order. */
import type { ModelMessage } from './model-message.js'
import { judgeReports } from './model-reports.js'
import { scriptedEnd } from '../workload/script.js'
import type { Violate } from './violation.js'

/** @param messages all of the run, @param warningCountMax delay warnings that a sender gets */
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
