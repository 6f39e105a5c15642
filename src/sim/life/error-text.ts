/** An error for a model and its readers: its text and its code. */
import { isWaybillError } from '../../errors.js'

/** An error in one line, with the one behind it. */
export const textOf = (error: unknown): string =>
  error instanceof Error
    ? `${error.name}: ${error.message}${error.cause instanceof Error ? ` (${error.cause.message})` : ''}`
    : JSON.stringify(error)

/** Its code, '' for an error that is not ours: a bug. */
export const codeOf = (error: unknown): string => (isWaybillError(error) ? error.code : '')
