/** Everything needed to route a message, without its data.
 * A replacement is an envelope for the remaining recipients of an earlier one. In a log without
 * `replaced` notes it names the start that it replaces. */
import type { MessageId } from '../base/message-id.js'
import { nowhere, position, type Position } from '../base/position.js'
import { WaybillError } from '../errors.js'
import { dsnFromFields, writeDsn, type EnvelopeDsn } from './dsn.js'
import { frameBytes } from './frame.js'
import { FieldReader } from './msgpack.js'
import { notesFromFields, writeNotes, type OutcomeNote } from './outcome-note.js'
import { payload } from './payload-writer.js'
import { termFieldCount, termsOf, writeTerms, type EnvelopeTerms, type TraceContext } from './terms.js'

/** Recipients in one frame: a message with more keeps them in separate frames before its
 * envelope. */
export const frameRecipientsMax = 1000

/** Where the data is. `before` and the recipients' frames are distances back from the envelope's
 * position, in bytes, so that a group can be encoded before it has a position. */
export type DataPlace =
  | { readonly kind: 'before'; readonly distanceBytes: number }
  | { readonly kind: 'lane'; readonly position: Position }
  | { readonly kind: 'spool'; readonly number: number }
  | { readonly kind: 'ref'; readonly ref: string }

export interface Envelope {
  readonly id: MessageId
  /** '' is the null sender. */
  readonly sender: string
  /** Milliseconds since 1970; the age of a message counts from here through all its
   * replacements. */
  readonly acceptedAt: number
  /** Attempts that ended before this envelope was written. */
  readonly attempts: number
  readonly smtputf8: boolean
  readonly recipientCount: number
  /** All of them, or none: none when they are more than 1000, and none in the copy of
   * `withoutRecipients`. */
  readonly recipients: readonly string[]
  /** Distances of the `recipients` frames, in the order of the recipients; empty when
   * they stand here. */
  readonly recipientFrames: readonly number[]
  readonly data: DataPlace
  /** Length of the data; 0 for a reference. */
  readonly dataBytes: number
  /** CRC-32 of the data; 0 for a reference. */
  readonly checksum: number
  /** The start that this envelope replaces, `nowhere` when it replaces none, or a `replaced`
   * note names that start. */
  readonly replaces: Position
  /** Why these recipients are still waiting: the outcomes of the attempt before. */
  readonly notes: readonly OutcomeNote[]
  /** Delay warnings that the sender had. */
  readonly warnings: number
  /** Recipients of the replaced envelope that a report in the same group tells the sender of; names
   * them when `replaces` is set. */
  readonly reported: readonly number[]
  /** The route that an operator gave it. */
  readonly route: EnvelopeRoute | undefined
  /** How often it was requeued. */
  readonly requeues: number
  /** The sender's requests (RFC 3461); undefined: none. */
  readonly dsn: EnvelopeDsn | undefined
  /** It is put on hold instead of being attempted, because its submitter asked for that. A
   * replacement is not held again. */
  readonly held: boolean
  readonly priority: Priority
  /** The idempotency key of its submission. A replacement has none. */
  readonly key?: string | undefined
  /** What its submitter asks of the queue; undefined: nothing. */
  readonly terms?: EnvelopeTerms | undefined
}

/** Decides which message is attempted first for a destination. */
export type Priority = 'high' | 'normal' | 'low'

/** A route that is kept with the message. An empty transport: the one that routing gives. */
export interface EnvelopeRoute {
  readonly transport: string
  readonly nexthop: string
}

/** The fields of an envelope that was never attempted, replaced, rerouted or requeued, and
 * has no requests. */
export const untouched: Pick<
  Envelope,
  | 'attempts'
  | 'replaces'
  | 'notes'
  | 'warnings'
  | 'reported'
  | 'route'
  | 'requeues'
  | 'dsn'
  | 'held'
  | 'priority'
> = {
  attempts: 0,
  replaces: nowhere,
  notes: [],
  warnings: 0,
  reported: [],
  route: undefined,
  requeues: 0,
  dsn: undefined,
  held: false,
  priority: 'normal',
}

/** Does it name its recipients? When not, MessageReader.addressees reads them from the log. */
export const namesRecipients = ({ recipients, recipientCount }: Envelope): boolean =>
  recipients.length === recipientCount

/** The same envelope without what grows with its recipients, for a message that stays in memory
 * while its frame stays in the log. */
export const withoutRecipients = (envelope: Envelope): Envelope => ({
  ...envelope,
  recipients: [],
  dsn: envelope.dsn && { ...envelope.dsn, orcpts: [] },
})

/** Bytes of a message in its lane beside its envelope: the frames of its recipients, which stand
 * before it, and its data. */
export const bytesBeside = ({ recipientFrames, data, dataBytes }: Envelope): number =>
  (recipientFrames[0] ?? 0) + (data.kind === 'lane' ? frameBytes(dataBytes) : 0)

const smtputf8Flag = 1
const heldFlag = 2
const highFlag = 4
const lowFlag = 8
const placeCodes = ['before', 'lane', 'spool', 'ref'] as const

export function encodeEnvelope(envelope: Envelope): Buffer {
  writeEnvelope(envelope)
  return payload.end()
}

/** Fields of every envelope. */
export const fieldsMin = 16
/** Of one without requests of its sender. */
export const fieldsBeforeDsn = 18
/** Of one with a key; one with terms has more. */
export const fieldsWithKey = 20
/** MessagePack's head of a list whose length has 16 bits. */
const list16 = 0xdc

/** May the envelope have a key? Seen without decoding it. */
export const mayHaveKey = (encoded: Buffer): boolean =>
  encoded[0] === list16 && encoded.readUInt16BE(1) >= fieldsWithKey

/** Into the payload that is being written. */
export function writeEnvelope(envelope: Envelope): void {
  const { data, route, requeues, dsn, key, terms } = envelope
  // The last fields are left out when they are empty.
  const fieldCount = fieldCountOf(envelope)
  payload.list(fieldCount).text(envelope.id).text(envelope.sender)
  payload.count(envelope.acceptedAt).count(envelope.attempts)
  payload.count(flagsOf(envelope)).count(envelope.recipientCount)
  payload.texts(envelope.recipients).counts(envelope.recipientFrames)
  payload.count(placeCodes.indexOf(data.kind))
  writePlace(data)
  payload.count(envelope.dataBytes).count(envelope.checksum).count(envelope.replaces)
  writeNotes(envelope.notes)
  payload.count(envelope.warnings).counts(envelope.reported)
  if (fieldCount === fieldsMin) return
  if (route === undefined) payload.list(0)
  else payload.texts([route.transport, route.nexthop])
  payload.count(requeues)
  if (dsn !== undefined) writeDsn(dsn)
  else if (fieldCount >= fieldsWithKey) payload.list(0)
  if (fieldCount >= fieldsWithKey) payload.text(key ?? '')
  if (terms !== undefined) writeTerms(terms)
}

function fieldCountOf({ route, requeues, dsn, key, terms }: Envelope): number {
  if (terms !== undefined) return fieldsWithKey + termFieldCount(terms)
  if (key !== undefined) return fieldsWithKey
  if (dsn !== undefined) return fieldsBeforeDsn + 1
  return route !== undefined || requeues > 0 ? fieldsBeforeDsn : fieldsMin
}

const flagsOf = ({ smtputf8, held, priority }: Envelope): number =>
  (smtputf8 ? smtputf8Flag : 0) +
  (held ? heldFlag : 0) +
  (priority === 'normal' ? 0 : priority === 'high' ? highFlag : lowFlag)

/** @throws WaybillError LOG_CORRUPT */
export function decodeEnvelope(encoded: Buffer): Envelope {
  const fields = new FieldReader(encoded, 'envelope', fieldsMin)
  let flags = 0
  const envelope: Envelope = {
    id: fields.text() as MessageId,
    sender: fields.text(),
    acceptedAt: fields.count(),
    attempts: fields.count(),
    smtputf8: ((flags = fields.count()) & smtputf8Flag) !== 0,
    recipientCount: fields.count(),
    recipients: fields.texts(),
    recipientFrames: fields.counts(),
    data: readPlace(fields),
    dataBytes: fields.count(),
    checksum: fields.count(),
    replaces: position(fields.count()),
    notes: notesFromFields(fields.list()),
    warnings: fields.count(),
    reported: fields.counts(),
    route: fields.isAtEnd ? undefined : routeOf(fields.texts()),
    requeues: fields.isAtEnd ? 0 : fields.count(),
    dsn: fields.isAtEnd ? undefined : dsnFromFields(fields.list()),
    key: fields.isAtEnd ? undefined : fields.text() || undefined,
    terms: fields.isAtEnd ? undefined : readTerms(fields),
    held: (flags & heldFlag) !== 0,
    priority: (flags & highFlag) !== 0 ? 'high' : (flags & lowFlag) !== 0 ? 'low' : 'normal',
  }
  if (envelope.recipientFrames.length === 0 && envelope.recipients.length !== envelope.recipientCount)
    throw new WaybillError('LOG_CORRUPT', 'an envelope does not have the recipients that it counts', {
      id: envelope.id,
    })
  return envelope
}

const readTerms = (fields: FieldReader): EnvelopeTerms | undefined =>
  termsOf({
    tags: fields.texts(),
    notBefore: fields.count(),
    expiresAt: fields.count(),
    warnAt: fields.count(),
    trace: fields.isAtEnd ? undefined : traceOf(fields.texts()),
  })

const traceOf = ([traceparent, tracestate]: readonly string[]): TraceContext | undefined =>
  traceparent === undefined ? undefined : { traceparent, tracestate: tracestate ?? '' }

const routeOf = ([transport, nexthop]: readonly string[]): EnvelopeRoute | undefined =>
  transport === undefined || nexthop === undefined ? undefined : { transport, nexthop }

function writePlace(data: DataPlace): void {
  switch (data.kind) {
    case 'before':
      payload.count(data.distanceBytes)
      return
    case 'lane':
      payload.count(data.position)
      return
    case 'spool':
      payload.count(data.number)
      return
    case 'ref':
      payload.text(data.ref)
      return
  }
}

function readPlace(fields: FieldReader): DataPlace {
  const kind = placeCodes[fields.count()]
  if (kind === undefined) throw new WaybillError('LOG_CORRUPT', 'an envelope does not say where its data is')
  switch (kind) {
    case 'before':
      return { kind: 'before', distanceBytes: fields.count() }
    case 'lane':
      return { kind: 'lane', position: position(fields.count()) }
    case 'spool':
      return { kind: 'spool', number: fields.count() }
    case 'ref':
      return { kind: 'ref', ref: fields.text() }
  }
}
