/** The whole message that a report is about, when its sender has asked for it back (RET=FULL, RFC 3461).
 * Invariant: it has CR LF line ends and nothing else is changed; one that is larger than the bound is not returned, but its header. A sender
 * who may be forged can ask for it as well: but only who may relay here, which the bound keeps from being worth it. */

/** Octets. @see Postfix bounce_size_limit */
export const messageBytesMax = 50_000

/** @param data the whole message */
export const originalMessage = (data: Buffer): Buffer =>
  Buffer.from(data.toString('latin1').replace(/\r\n|\r|\n/g, '\r\n'), 'latin1')
