/** The field of an envelope for requests of RFC 3461; most envelopes have none.
 * Invariant: ranges hold indexes in the envelope with the field; a recipient is in the ranges of
 * one request at most. */
import {
  notifyBitsMax,
  notifyOf,
  tells,
  type NotifyWhen,
  type RecipientDsn,
  type Ret,
} from '../base/notification.js'
import { forEachIn, toRanges, type Ranges } from '../base/ranges.js'
import { WaybillError } from '../errors.js'
import { FieldReader } from './msgpack.js'
import { areRanges } from './outcome-note.js'
import { payload } from './payload-writer.js'

/** All recipients with the same request. */
export interface NotifyNote {
  /** As base/notification.ts has it. */
  readonly asked: number
  readonly ranges: Ranges
}

export interface EnvelopeDsn {
  readonly ret: Ret | undefined
  /** '' when none was given. */
  readonly envid: string
  readonly notify: readonly NotifyNote[]
  /** Of each recipient, in order; '' where none was given. Empty: there are none, or they stand
   * with the recipients in separate frames. */
  readonly orcpts: readonly string[]
}

const rets: readonly (Ret | undefined)[] = [undefined, 'full', 'headers']

/** Into the payload that is being written. */
export function writeDsn({ ret, envid, notify, orcpts }: EnvelopeDsn): void {
  payload.list(4).count(rets.indexOf(ret)).text(envid).list(notify.length)
  for (const { asked, ranges } of notify) payload.list(2).count(asked).counts(ranges)
  payload.texts(orcpts)
}

/** @throws WaybillError LOG_CORRUPT */
export function dsnFromFields(list: readonly unknown[]): EnvelopeDsn | undefined {
  if (list.length === 0) return undefined
  const fields = new FieldReader(list, 'request for reports', 4)
  const ret = fields.count()
  return {
    ret: ret < rets.length ? rets[ret] : malformed(),
    envid: fields.text(),
    notify: fields.list().map(notifyFromField),
    orcpts: fields.texts(),
  }
}

function notifyFromField(field: unknown): NotifyNote {
  const [asked, ranges] = Array.isArray(field) ? (field as unknown[]) : []
  const isKnown = Number.isSafeInteger(asked) && (asked as number) > 0 && (asked as number) <= notifyBitsMax
  return isKnown && areRanges(ranges) ? { asked: asked as number, ranges } : malformed()
}

/** @param asked of each recipient */
export function notifyNotes(asked: Uint8Array): NotifyNote[] {
  const indexes = new Map<number, number[]>()
  asked.forEach((one, index) => {
    if (one === 0) return
    const same = indexes.get(one)
    if (same === undefined) indexes.set(one, [index])
    else same.push(index)
  })
  return [...indexes].map(([one, same]) => ({ asked: one, ranges: toRanges(same) }))
}

/** What was asked for each recipient. */
export function askedOfEach({ notify }: EnvelopeDsn, recipientCount: number): Uint8Array {
  const asked = new Uint8Array(recipientCount)
  for (const { asked: one, ranges } of notify) forEachIn(ranges, (index) => void (asked[index] = one))
  return asked
}

/** The same in words, with the original recipients, of all: '' where none. */
export function requestOfEach(dsn: EnvelopeDsn, orcpts: readonly string[]): RecipientDsn[] {
  const asked = askedOfEach(dsn, orcpts.length)
  return orcpts.map((orcpt, index) => ({ notify: notifyOf(asked[index]!), orcpt: orcpt || undefined }))
}

/** Is this event to be reported for any recipient with a request? */
export const asksFor = ({ notify }: EnvelopeDsn, when: NotifyWhen): boolean =>
  notify.some(({ asked }) => tells(asked, when))

const malformed = (): never => {
  throw new WaybillError('LOG_CORRUPT', 'a request for reports is malformed')
}
