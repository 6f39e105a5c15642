/** Recognizes values of another realm: those of `node:vm`, and so of Jest and of vitest's vm pools.
 * There the errors of Node are not errors of the program either.
 * Invariant: for such a value these say what `instanceof` says for ours. Nothing else in src asks
 * `instanceof` of a class of the language (test/tree/style.test.ts). */
import { types } from 'node:util'

/** An error of any realm, a DOMException of ours too. */
export const isError = (value: unknown): value is Error =>
  value instanceof Error || types.isNativeError(value)

/** A Buffer, or another `Uint8Array`. */
export const isBytes = (value: unknown): value is Uint8Array => types.isUint8Array(value)

/** A promise, or what has the member `then` of one. Reading it may throw. */
export const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'

export const isDate = (value: unknown): value is Date => types.isDate(value)

export const isMap = (value: unknown): value is ReadonlyMap<unknown, unknown> => types.isMap(value)

/** A mistake of a program, of the kinds that a typing error raises. */
export const isProgramError = (value: unknown): value is Error =>
  isError(value) && ['TypeError', 'ReferenceError', 'RangeError'].includes(value.name)

/** What a thrown value says for itself. Reading it may throw: it may be anything. */
export const thrownText = (thrown: unknown): string => (isError(thrown) ? thrown.message : String(thrown))
