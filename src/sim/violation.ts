/** A promise that was broken, as data. */

/** design: one letter for each promise. O1 kept · O2 not repeated · O3 few duplicates · O4 ended is ended · O5 nothing strange ·
 * O6 the same state again · O7 no rubbish · O8 failures are reported. */
export type Oracle = 'O1' | 'O2' | 'O3' | 'O4' | 'O5' | 'O6' | 'O7' | 'O8'

export interface Violation {
  readonly oracle: Oracle
  readonly text: string
}

/** One line: `O2 r1@a.test of m3 was delivered durably and is attempted again`. */
export const describeViolation = ({ oracle, text }: Violation): string => `${oracle} ${text}`

/** Takes note of one. */
export type Violate = (oracle: Oracle, text: string) => void
