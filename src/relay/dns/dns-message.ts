/** Encodes a question to the DNS, and decodes its answer with DNSSEC's AD bit. Pure.
 * Invariant: a message that is not the answer to this very question is ignored; an answer that is
 * damaged, cut off or leads in a circle says nothing. Whether an answer is proven is the
 * server's word (AD, RFC 6840 §5.7), for all of it, aliases too: the caller decides which server
 * to trust. */
import { atFirstUse } from '../../base/at-first-use.js'
import { comparableDomain } from '../../base/mail-address.js'
import { isHostName } from '../tables/nexthop.js'

/** Not exported: its package declares no types, and programs without them could not be compiled
 * (`skipLibCheck`, which is off by default). */
const dnsPacket = atFirstUse<typeof import('dns-packet')>('dns-packet', () => import('dns-packet'))

/** To be awaited before the first question. @returns undefined: ready */
export const dnsMessagesReady = (): Promise<void> | undefined => dnsPacket.ready()

/** Data of a TLSA record, RFC 6698 §2.1. */
export interface TlsaData {
  readonly usage: number
  readonly selector: number
  readonly matchingType: number
  readonly certificate: Buffer
}

export interface DnsData {
  A: string
  AAAA: string
  CNAME: string
  MX: { readonly preference?: number; readonly exchange: string }
  SOA: object
  TLSA: TlsaData
}

export type DnsType = keyof DnsData

export interface DnsQuestion<T extends DnsType = DnsType> {
  readonly id: number
  readonly type: T
  /** In lower case; `.` is the root. */
  readonly name: string
}

export interface DnsReply<T> {
  readonly kind: 'records' | 'no records' | 'no name'
  readonly records: readonly T[]
  /** Where aliases led to; the name itself where there is none. */
  readonly owner: string
  readonly isProven: boolean
}

/** What can be had over UDP without fragments, bytes. @see DNS flag day 2020 */
const udpBytesMax = 1232

/** Aliases that are followed. */
const aliasesMax = 16

/** What a server has answered, or a name that it cannot be asked for, with a `code` as those
 * of Node's `dns`. */
export class DnsError extends Error {
  readonly code: string

  constructor(code: string) {
    super(code)
    this.code = code
  }
}

/** @throws DnsError EBADNAME for a name that no message can carry */
export function questionMessage({ id, type, name }: DnsQuestion): Buffer {
  if (name !== '.' && !isHostName(name)) throw new DnsError('EBADNAME')
  const { AUTHENTIC_DATA, RECURSION_DESIRED, encode } = dnsPacket.now()
  return encode({
    type: 'query',
    id,
    flags: RECURSION_DESIRED | AUTHENTIC_DATA,
    questions: [{ type, name }],
    additionals: [
      {
        type: 'OPT',
        name: '.',
        udpPayloadSize: udpBytesMax,
        extendedRcode: 0,
        ednsVersion: 0,
        flags: 0,
        flag_do: false,
        options: [],
      },
    ],
  })
}

/** @returns undefined for what is no answer to this question @throws DnsError when nothing can be
 * learned from it */
export function replyIn<T extends DnsType>(
  message: Buffer,
  question: DnsQuestion<T>,
): DnsReply<DnsData[T]> | 'truncated' | undefined {
  if (message.length < 12 || message.readUInt16BE(0) !== question.id) return undefined
  // A reply, to a query of the usual kind.
  if ((message[2]! & 0xf8) !== 0x80) return undefined
  const asked = questionMessage(question).subarray(12, -optBytes)
  if (message.readUInt16BE(4) !== 1 || !sameLetters(message.subarray(12, 12 + asked.length), asked))
    return undefined
  if ((message[2]! & 0x02) !== 0) return 'truncated'
  const code = message[3]! & 0x0f
  if (code !== 0 && code !== noName) throw new DnsError(codes[code] ?? `rcode ${code}`)
  return decoded(message, code === noName, question)
}

/** Of the additional record in our questions. */
const optBytes = 11

const noName = 3

const codes: Readonly<Record<number, string>> = {
  1: 'EFORMERR',
  2: 'ESERVFAIL',
  4: 'ENOTIMP',
  5: 'EREFUSED',
}

/** Servers may write a name in other letters. The octets of types and lengths have no letter among
 * them that could be taken for another. */
const sameLetters = (some: Buffer, others: Buffer): boolean =>
  some.toString('latin1').toLowerCase() === others.toString('latin1').toLowerCase()

function decoded<T extends DnsType>(
  message: Buffer,
  isNoName: boolean,
  { type, name }: DnsQuestion<T>,
): DnsReply<DnsData[T]> {
  if (!isWhole(message)) throw new DnsError('EBADRESP')
  const { decode } = dnsPacket.now()
  let packet: ReturnType<typeof decode>
  try {
    packet = decode(message)
  } catch {
    throw new DnsError('EBADRESP')
  }
  const { answers = [], additionals = [], flag_ad: isProven } = packet
  // What does not fit the header's four bits is an error, whatever stands in them.
  if (additionals.some((record) => record.type === 'OPT' && record.extendedRcode !== 0))
    throw new DnsError('EBADRESP')
  const found = answers.map((record) => ({ ...record, name: comparableDomain(record.name) }))
  let owner = name
  if (type !== 'CNAME') {
    const aliases = new Map<string, string>()
    for (const record of found)
      if (record.type === 'CNAME') aliases.set(record.name, comparableDomain(record.data))
    for (let count = 0, next = aliases.get(owner); next !== undefined; next = aliases.get(owner)) {
      if (++count > aliasesMax) throw new DnsError('EBADRESP')
      owner = next
    }
  }
  const records = found
    .filter((record) => record.type === type && record.name === owner)
    .map((record) => (record as unknown as { readonly data: DnsData[T] }).data)
  const kind = records.length > 0 ? 'records' : isNoName ? 'no name' : 'no records'
  return { kind, records, owner, isProven }
}

/** Of A and AAAA. */
const addressBytes: Readonly<Record<number, number>> = { 1: 4, 28: 16 }
const tlsaType = 52

/** The library takes less than a record says it has for all of it:
 *    1. a message is cut off within a TLSA record
 *    2. what is left is no digest
 *    3. the record counts as one that nobody can use */
function isWhole(message: Buffer): boolean {
  let at = 12
  const passName = (): void => {
    let length = message[at] ?? 0
    while (length > 0 && length < 0xc0) {
      at += 1 + length
      length = message[at] ?? 0
    }
    at += length === 0 ? 1 : 2
  }
  passName()
  at += 4
  const recordCount = message.readUInt16BE(6) + message.readUInt16BE(8) + message.readUInt16BE(10)
  for (let i = 0; i < recordCount; i++) {
    passName()
    if (at + 10 > message.length) return false
    const type = message.readUInt16BE(at)
    const length = message.readUInt16BE(at + 8)
    if (length !== (addressBytes[type] ?? length) || (type === tlsaType && length < 3)) return false
    at += 10 + length
  }
  return at <= message.length
}
