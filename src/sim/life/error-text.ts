/** An error for a model and its readers: its text and its code. */
import { isError } from '../../base/realms.js'
import { isWaybillError } from '../../errors.js'

/** An error in one line, with the one behind it. */
export const textOf = (error: unknown): string =>
  isError(error)
    ? `${error.name}: ${error.message}${isError(error.cause) ? ` (${error.cause.message})` : ''}`
    : JSON.stringify(error)

/** Its code, '' for an error that is not ours: a bug. */
export const codeOf = (error: unknown): string => (isWaybillError(error) ? error.code : '')
