/** What a model and its readers are told of an error: its words, and its code. */
import { isWaybillError } from '../../errors.js'

/** An error in one line, with the one behind it. */
export const textOf = (error: unknown): string =>
  error instanceof Error
    ? `${error.name}: ${error.message}${error.cause instanceof Error ? ` (${error.cause.message})` : ''}`
    : JSON.stringify(error)

/** Its code, '' for one that is none of ours: a mistake in the program. */
export const codeOf = (error: unknown): string => (isWaybillError(error) ? error.code : '')
