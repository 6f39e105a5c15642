/** Signs mail as it leaves.
 * Invariant: the octets below a signature leave exactly as they were signed. Mail leaves without a
 * signature when its author has no key (no domain with a key, no author, or several), or when its
 * header could be read in two ways: that is no error. Data is read once from its beginning, a
 * piece at a time.
 *
 * A signature takes about a millisecond (RSA of 2048 bits). It is made on the threads of Node's
 * pool, a few at a time, so that the thread of the queue does not wait. */
import { availableParallelism } from 'node:os'
import { systemClock, type Clock } from '../../base/clock.js'
import { HeaderEnd, headerFields } from '../../base/header.js'
import { authorDomain } from './author-domain.js'
import { BodyHash, signatureField, signedHeader, type SignedHeader } from './dkim-signature.js'
import { dkimKeysOf, type DkimKey, type DkimKeys, type SigningKey } from './dkim-keys.js'

/** A header longer than this is not signed, bytes: others do not take it either. */
const headerBytesMax = 256 << 10

interface Plan {
  readonly keys: readonly SigningKey[]
  readonly header: SignedHeader
  readonly body: BodyHash
}

const nothing: Buffer = Buffer.alloc(0)

/** Asked at every attempt, of its recipients. */
export type DkimSigns = (recipients: readonly string[]) => boolean

/** @returns undefined without keys @throws WaybillError OPTION_INVALID */
export function signerOf(options: {
  readonly dkim?: readonly DkimKey[] | undefined
  readonly dkimSigns?: DkimSigns | undefined
  readonly clock?: Clock | undefined
}): DkimSigner | undefined {
  const { dkim, dkimSigns = () => true, clock = systemClock } = options
  return dkim === undefined ? undefined : new DkimSigner(dkimKeysOf(dkim), dkimSigns, clock)
}

export class DkimSigner {
  readonly #keys: DkimKeys
  /** Whether mail for these recipients may be signed. */
  readonly signs: DkimSigns
  readonly #clock: Clock

  constructor(keys: DkimKeys, signs: DkimSigns, clock: Clock) {
    this.#keys = keys
    this.signs = signs
    this.#clock = clock
  }

  /** @param data whole, or piece by piece; fails as it fails
   * @returns what stands above the data when it leaves: a signature for each key of its
   * domain, or nothing */
  async fieldsFor(data: Buffer | AsyncIterable<Buffer>): Promise<Buffer> {
    const end = new HeaderEnd()
    const header: Buffer[] = []
    let headerBytes = 0
    let plan: Plan | undefined
    for await (const piece of Buffer.isBuffer(data) ? [data] : data) {
      if (plan !== undefined) {
        plan.body.update(piece)
        continue
      }
      const bodyAt = end.find(piece)
      header.push(bodyAt < 0 ? piece : piece.subarray(0, bodyAt))
      headerBytes += header.at(-1)!.length
      if (headerBytes > headerBytesMax) return nothing
      if (bodyAt < 0) continue
      plan = this.#planFor(Buffer.concat(header))
      if (plan === undefined) return nothing
      plan.body.update(piece.subarray(bodyAt))
    }
    plan ??= this.#planFor(Buffer.concat(header))
    return plan === undefined ? nothing : await this.#signed(plan)
  }

  #planFor(header: Buffer): Plan | undefined {
    const fields = headerFields(header)
    const domain = fields === undefined ? undefined : authorDomain(fields)
    if (fields === undefined || domain === undefined) return undefined
    const keys = this.#keys.for(domain)
    const signed = keys.length === 0 ? undefined : signedHeader(fields)
    return signed === undefined ? undefined : { keys, header: signed, body: new BodyHash() }
  }

  async #signed({ keys, header, body }: Plan): Promise<Buffer> {
    const bodyHash = body.digest()
    return inTurn(async () => {
      const atMs = this.#clock.wallMs()
      const fields: string[] = []
      for (const key of keys) fields.push(await signatureField(header, bodyHash, key, atMs))
      return Buffer.from(fields.join(''))
    })
  }
}

/** Signatures at once, of all transports together, first in, first out: half of Node's pool of four
 * threads, where the journal's next write waits, too (README.md in this folder has for how long);
 * and a processor is left to the queue. */
export const turnsMax: number = availableParallelism() > 2 ? 2 : 1

let signingCount = 0
/** As many as attempts are under way, at most. */
const waiting: (() => void)[] = []

export async function inTurn<T>(sign: () => Promise<T>): Promise<T> {
  if (signingCount < turnsMax) signingCount++
  else await new Promise<void>((resolve) => waiting.push(resolve))
  try {
    return await sign()
  } finally {
    const begin = waiting.shift()
    if (begin === undefined) signingCount--
    else begin()
  }
}
