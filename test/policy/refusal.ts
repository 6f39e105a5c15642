/** The error that `act` was refused with, undefined when it was not refused; anything but a
 * WaybillError passes through. */
import { isWaybillError, type WaybillError } from '../../src/errors.js'

export function refusal(act: () => unknown): WaybillError | undefined {
  try {
    act()
    return undefined
  } catch (error) {
    if (isWaybillError(error)) return error
    throw error
  }
}
