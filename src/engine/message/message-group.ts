/** The frames of one message, encoded before they have a position. Data come first, then frames of
 * recipients. The envelope is last, so that its reader knows that the rest stands before it.
 * Places inside the group are distances back from the envelope. */
import { isBytes } from '../../base/realms.js'
import type { Position } from '../../base/position.js'
import { encodeEnvelope, frameRecipientsMax, type DataPlace, type Envelope } from '../../record/envelope.js'
import { frameBytes, kinds, type Kind } from '../../record/frame.js'
import { encodeRecipients } from '../../record/recipients.js'

/** Everything about the envelope but what the group itself decides. Its `dsn.orcpts` are those of
 * all recipients, wherever these stand. */
export type EnvelopeFacts = Omit<Envelope, 'recipients' | 'recipientFrames' | 'recipientCount' | 'data'>

/** More than the envelope of a report takes. */
export const reportEnvelopeBytes = 4096

interface Part {
  readonly kind: Kind
  readonly payload: Uint8Array
}

export interface MessageGroup {
  readonly envelope: Envelope
  readonly parts: readonly Part[]
  /** The sum of the frames. */
  readonly bytes: number
  /** Length of the envelope's frame, the last one. */
  readonly envelopeBytes: number
}

const none: readonly never[] = []

/** @param data its bytes, when they go into the group; else where they are */
export function messageGroup(
  facts: EnvelopeFacts,
  recipients: readonly string[],
  data: Uint8Array | Exclude<DataPlace, { kind: 'before' }>,
): MessageGroup {
  const parts: Part[] = []
  const offsets: number[] = []
  let bytes = 0
  if (isBytes(data)) {
    parts.push({ kind: kinds.data, payload: data })
    bytes = frameBytes(data.length)
  }
  const framed = recipients.length > frameRecipientsMax
  if (framed) {
    for (let i = 0; i < recipients.length; i += frameRecipientsMax) {
      const orcpts = facts.dsn?.orcpts.slice(i, i + frameRecipientsMax)
      const payload = encodeRecipients(recipients.slice(i, i + frameRecipientsMax), orcpts)
      offsets.push(bytes)
      parts.push({ kind: kinds.recipients, payload })
      bytes += frameBytes(payload.length)
    }
  }
  // Field by field: a spread of so many costs ten microseconds, more than all the rest of an
  // acceptance.
  const envelope: Envelope = {
    id: facts.id,
    sender: facts.sender,
    acceptedAt: facts.acceptedAt,
    attempts: facts.attempts,
    smtputf8: facts.smtputf8,
    recipientCount: recipients.length,
    recipients: framed ? none : recipients,
    recipientFrames: framed ? offsets.map((offset) => bytes - offset) : none,
    data: isBytes(data) ? { kind: 'before', distanceBytes: bytes } : data,
    dataBytes: facts.dataBytes,
    checksum: facts.checksum,
    replaces: facts.replaces,
    notes: facts.notes,
    warnings: facts.warnings,
    reported: facts.reported,
    route: facts.route,
    requeues: facts.requeues,
    dsn: framed && facts.dsn !== undefined ? { ...facts.dsn, orcpts: none } : facts.dsn,
    held: facts.held,
    priority: facts.priority,
    key: facts.key,
    terms: facts.terms,
  }
  const payload = encodeEnvelope(envelope)
  const envelopeBytes = frameBytes(payload.length)
  parts.push({ kind: kinds.envelope, payload })
  return { envelope, parts, bytes: bytes + envelopeBytes, envelopeBytes }
}

/** Appends the parts to a log in which place for them was made. Returns the envelope's position. */
export function appendGroup(
  log: { append(kind: Kind, lane: number, timeMs: number, payload: Uint8Array): Position },
  { parts }: MessageGroup,
  lane: number,
  timeMs: number,
): Position {
  for (let i = 0; i < parts.length - 1; i++) log.append(parts[i]!.kind, lane, timeMs, parts[i]!.payload)
  return log.append(kinds.envelope, lane, timeMs, parts[parts.length - 1]!.payload)
}
