/** Counts with their nouns, strict UTF-8, and strings that keep no longer ones in memory. Pure. */

/** The noun as it stands behind the count.
 * @param more the plural, if it is not the noun with an s */
export const nounText = (count: number, noun: string, more: string = `${noun}s`): string =>
  count === 1 ? noun : more

/** Digits in threes. */
export const digitsText = (count: number): string => String(count).replace(/\B(?=(\d{3})+$)/g, ' ')

/** How many of what: `1 message`, `1 234 messages`. */
export const countText = (count: number, noun: string, more?: string): string =>
  `${digitsText(count)} ${nounText(count, noun, more)}`

const strictDecoder = new TextDecoder('utf-8', { fatal: true })

/** Without the mark (U+FEFF) with which some editors begin a file.
 * @returns undefined if it is no UTF-8: no character is replaced */
export function utf8Text(bytes: Uint8Array): string | undefined {
  try {
    return strictDecoder.decode(bytes)
  } catch {
    // A TypeError says that, and nothing else.
    return undefined
  }
}

/** Copies a piece of a long string.
 * Why: V8 keeps a whole string in memory as long as a piece of it (13 characters or more) is
 * referenced.
 *    1. the servers of 5000 domains answer with 64 KiB each
 *    2. of each answer, 500 characters are kept
 *    3. the process holds 300 MB
 * @returns the same string, with memory for itself alone */
export const ownText = (piece: string): string => Buffer.from(piece, 'utf16le').toString('utf16le')
