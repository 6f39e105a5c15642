/** Who gets a message that is requeued: what the embedder's tables say now of those that are left.
 * Invariant: where that cannot be had, nothing is appended, and the message stays as it is. */
import { notifyOf, type AskedRecipient } from '../../base/notification.js'
import { WaybillError } from '../../errors.js'
import { askedOfEach } from '../../record/dsn.js'
import type { Envelope } from '../../record/envelope.js'
import { checkEnvelope } from '../accept/submission.js'
import { sameRecipients, type EngineOptions } from '../life/options.js'
import type { Remainder } from './replacement.js'

/** @returns the remainder with them
 * @throws WaybillError OPTION_INVALID when the embedder's function throws, or answers no list;
 * ADDRESS_INVALID, RECIPIENTS_EMPTY, RECIPIENTS_TOO_MANY */
export function requeuedRecipients(
  { id, smtputf8 }: Envelope,
  remainder: Remainder,
  options: EngineOptions,
): Remainder {
  if (options.requeueRecipients === sameRecipients) return remainder
  const { dsn: all } = remainder
  const given = answerOf(options, askedOf(remainder), id)
  const dsn = all && { id: all.envid || undefined, return: all.ret }
  const checked = checkEnvelope({ sender: '', recipients: given, data: '', dsn }, options)
  return {
    ...remainder,
    recipients: checked.recipients,
    dsn: checked.dsn,
    smtputf8: smtputf8 || checked.smtputf8,
  }
}

function askedOf({ recipients, dsn }: Remainder): readonly AskedRecipient[] {
  const asked = dsn && askedOfEach(dsn, recipients.length)
  return recipients.map((address, i) => ({
    address,
    notify: asked && notifyOf(asked[i]!),
    orcpt: dsn?.orcpts[i] || undefined,
  }))
}

function answerOf(
  { requeueRecipients }: EngineOptions,
  asked: readonly AskedRecipient[],
  id: string,
): readonly (string | AskedRecipient)[] {
  try {
    const answer: unknown = requeueRecipients(asked)
    if (Array.isArray(answer)) return answer as readonly (string | AskedRecipient)[]
    throw new TypeError('it must return a list of recipients, not a promise')
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error)
    const place = { option: 'requeueRecipients', id }
    throw new WaybillError('OPTION_INVALID', `requeueRecipients() failed: ${words}`, place, error)
  }
}
