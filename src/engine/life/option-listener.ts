/** Calls a listener that an option names: what it throws is a warning of the process.
 * Invariant: a mistake in the program around a queue that nobody hears as an event is a warning of
 * the process, and stops nothing. */
import { callListener, listenerDefectText } from '../../delivery/call-listener.js'

/** @param name of its option */
export const callOptionListener = (name: string, listener: () => unknown): void =>
  callListener(listener, (error) => warnOfListener(name, error))

export const warnOfListener = (name: string, error: unknown): void =>
  warnOfMistake({ code: 'LISTENER_DEFECT', message: listenerDefectText(name, error) })

/** On standard error, where the program does not listen for warnings of the process. */
export const warnOfMistake = ({ code, message }: { readonly code: string; readonly message: string }): void =>
  process.emitWarning(message, { code })
