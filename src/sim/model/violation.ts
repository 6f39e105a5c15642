/** A promise that was broken, as data. */

/** design: one letter for each promise. O1 kept · O2 not repeated · O3 few duplicates · O4 ended
 * is ended · O5 nothing strange · O6 the same state again · O7 no rubbish · O8 failures are
 * reported · O12 a consumer gets every outcome. Of nodes on a store also O9 to O11 and O13:
 * ../store/cluster-model.ts. */
export type Oracle =
  'O1' | 'O2' | 'O3' | 'O4' | 'O5' | 'O6' | 'O7' | 'O8' | 'O9' | 'O10' | 'O11' | 'O12' | 'O13'

/** Its subject, if there is one. */
export interface About {
  /** The message, by its name in the model. */
  readonly message?: string | undefined
  /** The queue reported it: the code of its error or warning, '' for an error without one. */
  readonly code?: string
}

export interface Violation extends About {
  readonly oracle: Oracle
  readonly text: string
}

/** One line: `O2 r1@a.test of m3 was delivered durably and is attempted again`. */
export const describeViolation = ({ oracle, text }: Violation): string => `${oracle} ${text}`

/** Takes note of one. */
export type Violate = (oracle: Oracle, text: string, about?: About) => void

/** Takes note of those of one message. */
export const ofMessage =
  (violate: Violate, message: string): Violate =>
  (oracle, text) =>
    violate(oracle, text, { message })

/** Violations of one run that are kept. The first says what is wrong; where damage excuses many,
 * one that it does not excuse may be the last. */
export const violationsMax = 1000
