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

/** What a thrown value says for itself; Node's error of a connection that was refused at two
 * addresses says it only in the errors of both. Reading it may throw: it may be anything. */
export function thrownText(thrown: unknown): string {
  if (!isError(thrown)) return String(thrown)
  if (thrown.message !== '') return thrown.message
  const { errors, code } = thrown as { readonly errors?: unknown; readonly code?: unknown }
  const reasons = Array.isArray(errors) ? errors.map((error) => (isError(error) ? error.message : '')) : []
  const said = [...new Set(reasons)].filter((reason) => reason !== '')
  if (said.length > 0) return said.join('; ')
  return typeof code === 'string' ? code : thrown.name
}
