/** A position is a byte offset since a log's birth. It is branded, so that a length, an offset in a file and a
 * position cannot be mixed up; below 2⁵³ it is an exact JavaScript number (a terabyte a day for twenty years). */

declare const brand: unique symbol
export type Position = number & { readonly [brand]: 'position' }

/** Vouches that a number is a position. */
export const position = (value: number): Position => value as Position

/** No frame begins here: every log begins with a segment header. */
export const nowhere: Position = position(0)
