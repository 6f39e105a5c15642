/** Payloads are MessagePack arrays whose fields FORMAT.md §4 lists by place. They have no maps, and
 * no structures that earlier records define, so any frame can be read alone. A payload may grow
 * fields at its end; a reader ignores those that it does not know. */
import { Packr } from 'msgpackr/pack'
import { Unpackr } from 'msgpackr/unpack'
import { WaybillError } from '../errors.js'

const packr = new Packr({ useRecords: false, variableMapSize: true, encodeUndefinedAsNil: true })
const unpackr = new Unpackr({ useRecords: false, int64AsType: 'number' })

export type Field = string | number | boolean | null | Buffer | readonly Field[]

export const encodeFields = (fields: readonly Field[]): Buffer => packr.pack(fields)

/** Reads one field after the other and checks its type. All throw WaybillError LOG_CORRUPT: the
 * checksum was right, so another program or an unknown version wrote this. */
export class FieldReader {
  readonly #fields: readonly unknown[]
  readonly #record: string
  #next = 0

  /** @param source a payload, or a list inside one */
  constructor(source: Buffer | readonly unknown[], record: string, fieldCountMin: number) {
    this.#fields = Buffer.isBuffer(source) ? unpack(source, record) : source
    this.#record = record
    if (this.#fields.length < fieldCountMin)
      throw new WaybillError('LOG_CORRUPT', `a ${record} record has too few fields`)
  }

  /** Fields that a payload may lack are not there. */
  get isAtEnd(): boolean {
    return this.#next >= this.#fields.length
  }

  text(): string {
    const value = this.#fields[this.#next++]
    return typeof value === 'string' ? value : this.#wrong('a text')
  }

  /** A non-negative integer. */
  count(): number {
    const value = this.#fields[this.#next++]
    return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
      ? value
      : this.#wrong('a count')
  }

  /** A list of non-negative integers. */
  counts(): number[] {
    const value = this.#fields[this.#next++]
    return Array.isArray(value) && value.every((n) => Number.isSafeInteger(n) && (n as number) >= 0)
      ? (value as number[])
      : this.#wrong('a list of counts')
  }

  texts(): string[] {
    const value = this.#fields[this.#next++]
    return Array.isArray(value) && value.every((s) => typeof s === 'string')
      ? (value as string[])
      : this.#wrong('a list of texts')
  }

  list(): readonly unknown[] {
    const value = this.#fields[this.#next++]
    return Array.isArray(value) ? (value as unknown[]) : this.#wrong('a list')
  }

  #wrong(expected: string): never {
    throw new WaybillError(
      'LOG_CORRUPT',
      `field ${this.#next} of a ${this.#record} record is not ${expected}`,
    )
  }
}

/** From this length on msgpackr's native reader of strings is faster: four times with ten
 * recipients. */
const nativeBytesMin = 256
let native: Promise<unknown> | undefined

function unpack(payload: Buffer, record: string): readonly unknown[] {
  // Loading it takes as long as all of the engine: a short life that reads no long record goes
  // without. Both readers give the same fields.
  if (payload.length >= nativeBytesMin) native ??= import('msgpackr')
  let fields: unknown
  try {
    fields = unpackr.unpack(payload)
  } catch (cause) {
    throw new WaybillError('LOG_CORRUPT', `the payload of a ${record} record is not MessagePack`, {}, cause)
  }
  if (!Array.isArray(fields)) throw new WaybillError('LOG_CORRUPT', `a ${record} record is not an array`)
  return fields as readonly unknown[]
}
