/** The forms in which an attempt sends a message: as it was accepted, or in seven bits, each below
 * its signature.
 * Invariant: a form is made once within an attempt, for the first server that needs it and before
 * that server hears of the message; a signature is made of what leaves. */
import { isAscii } from 'node:buffer'
import { Readable } from 'node:stream'
import { isInternational } from '../../base/mail-address.js'
import type { DeliveryRequest } from '../../delivery/transport.js'
import type { DkimSigner } from '../dkim/dkim-signer.js'
import { inSevenBits, sevenBitPlan, type SevenBitPlan } from '../mime/seven-bit.js'
import type { SmtpClient } from './smtp-client.js'

export interface Form {
  /** undefined: it is sent as a stream. */
  readonly whole: Buffer | undefined
  readonly plan: SevenBitPlan | undefined
  /** Stands above the data. */
  readonly signature: Buffer
  /** With the signature. */
  readonly dataBytes: number
  readonly isEightBit: boolean
}

const nothing: Buffer = Buffer.alloc(0)

export class Sending {
  readonly request: DeliveryRequest
  /** undefined: it is sent as a stream. */
  readonly whole: Buffer | undefined
  readonly smtputf8: boolean
  /** An address needs it, whatever the data is. */
  readonly hasLetters: boolean
  readonly #signer: DkimSigner | undefined
  /** By whether the server takes octets over 127. */
  readonly #forms = new Map<boolean, Form>()

  constructor(request: DeliveryRequest, whole: Buffer | undefined, signer: DkimSigner | undefined) {
    this.request = request
    this.whole = whole
    this.#signer = signer
    this.hasLetters = isInternational(request.sender) || request.recipients.some(isInternational)
    this.smtputf8 = request.smtputf8 || this.hasLetters
  }

  /** As it was accepted. */
  source(): Buffer | Readable {
    return this.whole ?? this.request.stream()
  }

  /** @throws NoSevenBitForm, and what reading the data throws */
  async formFor(client: SmtpClient): Promise<Form> {
    // RFC 6531 §3.1: a server that offers SMTPUTF8 takes eight bits.
    const takesEightBit = client.offers('8BITMIME') || client.offers('SMTPUTF8')
    const known = this.#forms.get(takesEightBit)
    if (known !== undefined) return known
    const form = await this.#made(takesEightBit)
    this.#forms.set(takesEightBit, form)
    return form
  }

  dataOf({ whole, plan, signature }: Form): Buffer | Readable {
    if (whole !== undefined) return signature.length > 0 ? Buffer.concat([signature, whole]) : whole
    const stream = this.#stream(plan)
    if (signature.length > 0) stream.unshift(signature)
    return stream
  }

  async #made(takesEightBit: boolean): Promise<Form> {
    const { whole: source, request } = this
    const isPlain = takesEightBit || (source !== undefined && isAscii(source))
    const read = source === undefined ? () => request.stream() : () => [source]
    const plan = isPlain ? undefined : await sevenBitPlan(read)
    const whole = source && plan ? Buffer.concat(await all(inSevenBits([source], plan))) : source
    const signs = this.#signer?.signs(request.recipients) === true
    const signature = signs ? await this.#signer.fieldsFor(whole ?? this.#stream(plan)) : nothing
    let dataBytes = whole?.length ?? request.dataBytes
    if (whole === undefined && plan !== undefined) {
      dataBytes = 0
      for await (const { length } of inSevenBits(request.stream(), plan)) dataBytes += length
    }
    const isEightBit = whole === undefined || !isAscii(whole)
    return { whole, plan, signature, dataBytes: dataBytes + signature.length, isEightBit }
  }

  #stream(plan: SevenBitPlan | undefined): Readable {
    const stream = this.request.stream()
    return plan === undefined ? stream : Readable.from(inSevenBits(stream, plan), { objectMode: false })
  }
}

async function all(pieces: AsyncIterable<Buffer>): Promise<Buffer[]> {
  const found: Buffer[] = []
  for await (const piece of pieces) found.push(piece)
  return found
}
