/** Signs mail as it leaves.
 * Invariant: what is signed is, octet by octet, what leaves below the signature; mail that cannot
 * be signed so that everybody finds it right leaves without one. That is no error: its author is
 * not at a domain with a key, is nobody or several, or its header is none. Data is looked at once
 * from its beginning, a piece at a time.
 *
 * A key signs for about a millisecond (RSA of 2048 bits). On the thread of the queue everything
 * would wait for it, so it is on those of Node's pool, a few at a time (signing-turns.ts). */
import { systemClock, type Clock } from '../../base/clock.js'
import { authorDomain } from './author-domain.js'
import { BodyHash } from './body-hash.js'
import { dkimKeysOf, type DkimKey, type DkimKeys, type SigningKey } from './dkim-keys.js'
import { signatureField, signedHeader, type SignedHeader } from './dkim-signature.js'
import { HeaderEnd, headerFields } from '../../base/header.js'
import { inTurn } from './signing-turns.js'

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
  readonly dkim?: readonly DkimKey[]
  readonly dkimSigns?: DkimSigns
  readonly clock?: Clock
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
