/** A position is a byte offset since a log's birth.
 * It is branded, so that it cannot be mistaken for a length or an offset in a file. Below 2⁵³ (a
 * terabyte a day for twenty years) it is an exact JavaScript number. */

declare const brand: unique symbol
export type Position = number & { readonly [brand]: 'position' }

/** Brands a number as a position. */
export const position = (value: number): Position => value as Position

/** No frame begins here: every log begins with a segment header. */
export const nowhere: Position = position(0)
