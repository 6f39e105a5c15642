/** The whole message that a report is about, if its sender asked for it (RET=FULL, RFC 3461).
 * Invariant: only line ends change, to CR LF. Of a message larger than the bound, the header is
 * returned instead. A client that may relay can ask in the name of a forged sender; the bound
 * limits what it gains. */

/** Octets. @see Postfix bounce_size_limit */
export const messageBytesMax = 50_000

/** @param data the whole message */
export const originalMessage = (data: Buffer): Buffer =>
  Buffer.from(data.toString('latin1').replace(/\r\n|\r|\n/g, '\r\n'), 'latin1')
