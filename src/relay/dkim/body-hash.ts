/** The hash of a body in the form "relaxed" (RFC 6376 §3.4.4), nodemailer's, piece by piece.
 * Invariant: it is the hash of what leaves. A CR that stands alone leaves as CRLF
 * (smtp-delivery.ts), and nodemailer takes it for a letter: it is shown an LF instead, which it
 * takes for the end of a line, as it is. */
import RelaxedBody from 'nodemailer/lib/dkim/relaxed-body'

const LF = 0x0a
const CR = 0x0d

export class BodyHash {
  readonly #body = new RelaxedBody()
  /** It is not known yet whether an LF follows. */
  #owesCr = false

  update(piece: Buffer): void {
    const data = this.#owesCr && piece.length > 0 ? Buffer.concat([Buffer.of(CR), piece]) : piece
    if (data.length === 0) return
    this.#owesCr = data.at(-1) === CR
    this.#body.updateHash(withoutBareCr(this.#owesCr ? data.subarray(0, -1) : data))
  }

  /** @returns the hash in base64, when all has been seen */
  digest(): string {
    // The end that the last line has not, or an empty line more, which is nothing.
    this.#body.updateHash(Buffer.of(CR, LF))
    return this.#body.bodyHash.digest('base64')
  }
}

function withoutBareCr(data: Buffer): Buffer {
  let mended = data
  for (let at = data.indexOf(CR); at >= 0; at = data.indexOf(CR, at + 1)) {
    if (data[at + 1] === LF) continue
    if (mended === data) mended = Buffer.from(data)
    mended[at] = LF
  }
  return mended
}
