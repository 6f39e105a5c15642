/** Shows any frame as plain fields, with the names of FORMAT.md. */
import { decodeCommit } from '../../log/commit-frame.js'
import { decodeCheckpoint } from '../../record/checkpoint.js'
import { decodeDelivery } from '../../record/delivery.js'
import { decodeEnvelope } from '../../record/envelope.js'
import { decodeFinish } from '../../record/finish.js'
import type { KindName } from '../../record/frame.js'
import { decodeKeys } from '../../record/keys.js'
import { decodeMarks } from '../../record/marks.js'
import { decodeOutcome } from '../../record/outcome.js'
import { decodeOrcpts, decodeRecipients } from '../../record/recipients.js'
import { decodeReplaced } from '../../record/replaced.js'
import { decodeStart } from '../../record/start.js'

/** One record of a log, at its place. */
export interface LoggedRecord {
  /** `journal`, `2/envelopes`, … */
  readonly log: string
  readonly position: number
  readonly segment: number
  readonly offset: number
  readonly bytes: number
  readonly kind: KindName
  readonly lane: number
  readonly timeMs: number
  readonly payload: Buffer
}

/** @throws WaybillError LOG_CORRUPT if the payload does not fit its kind */
export function fieldsOf(kind: KindName, payload: Buffer): Readonly<Record<string, unknown>> {
  switch (kind) {
    case 'envelope': {
      // Fields that most messages lack are not shown.
      const { held, priority, key, terms, ...envelope } = decodeEnvelope(payload)
      return {
        ...envelope,
        ...(held ? { held } : undefined),
        ...(priority === 'normal' ? undefined : { priority }),
        ...(key === undefined ? undefined : { key }),
        ...(terms === undefined ? undefined : { terms }),
      }
    }
    case 'data':
      return { dataBytes: payload.length }
    case 'recipients':
      return { recipients: decodeRecipients(payload), orcpts: decodeOrcpts(payload) }
    case 'start':
      return { ...decodeStart(payload) }
    case 'delivery':
      return { ...decodeDelivery(payload) }
    case 'finish':
      return { ...decodeFinish(payload) }
    case 'replaced':
      return { ...decodeReplaced(payload) }
    case 'marks':
      return { ...decodeMarks(payload) }
    case 'checkpoint':
      return { ...decodeCheckpoint(payload) }
    case 'commit':
      return { ...decodeCommit(payload) }
    case 'pad':
      return {}
    case 'keys':
      return { keys: decodeKeys(payload) }
    case 'outcome': {
      const { at: _, ...outcome } = decodeOutcome(payload, 0)
      return outcome
    }
  }
}
