/** Checks for names and values of options.
 * Why: a wrong value that is refused late has already caused an endless wait, or mail to a wrong
 * host; an unknown name is a mistake. */
import { WaybillError } from '../errors.js'

/** Bound of one wait, milliseconds: a day. Timers run at once when they cannot count the delay. */
export const waitMsMax = 86_400_000

/** A value as it was given: a port out of the environment is '25', and not the number that
 * it looks like. */
export const asGiven = (value: unknown): string => (typeof value === 'string' ? `'${value}'` : String(value))

/** @throws WaybillError OPTION_INVALID: if the signal is no AbortSignal */
export function signalOption(signal: AbortSignal | undefined): void {
  if (signal === undefined) return
  if (typeof signal?.aborted !== 'boolean' || typeof signal.addEventListener !== 'function')
    throw new WaybillError('OPTION_INVALID', 'expected the signal of an AbortController', {
      option: 'signal',
    })
}

/** @throws WaybillError OPTION_INVALID, which names the option, the value and the bounds */
export function integerOption(option: string, value: number, least: number, most: number): number {
  if (!Number.isSafeInteger(value) || value < least || value > most)
    throw new WaybillError('OPTION_INVALID', `${asGiven(value)} is not an integer from ${least} to ${most}`, {
      option,
    })
  return value
}

/** @throws WaybillError OPTION_INVALID */
export function textOption(option: string, value: string): string {
  if (typeof value !== 'string') throw new WaybillError('OPTION_INVALID', 'expected a string', { option })
  return value
}

/** @throws WaybillError OPTION_INVALID */
export function flagOption(option: string, value: boolean): boolean {
  if (typeof value !== 'boolean')
    throw new WaybillError('OPTION_INVALID', `${option} is true or false`, { option })
  return value
}

/** Text of 1 to `bytesMax` bytes as it stands in a record: half a surrogate pair would be read back
 * as another character. */
export const isRecordText = (value: unknown, bytesMax: number): value is string =>
  typeof value === 'string' && value !== '' && Buffer.byteLength(value) <= bytesMax && !/\p{Cs}/u.test(value)

/** An object whose methods are called later: all of them must be there.
 * @throws WaybillError OPTION_INVALID, which names the option and what it lacks */
export function methodsOption<T extends object>(option: string, value: T, names: Partial<OptionNames<T>>): T {
  const methods = Object.keys(names) as (keyof T & string)[]
  const lacking = methods.filter((name) => typeof (value as Partial<T> | null)?.[name] !== 'function')
  if (lacking.length > 0)
    throw new WaybillError(
      'OPTION_INVALID',
      `expected ${methods.join(', ')}; ${lacking.join(', ')} is no function`,
      {
        option,
      },
    )
  return value
}

/** A host name or an address. @throws WaybillError OPTION_INVALID */
export function hostOption(option: string, value: string): string {
  if (typeof value !== 'string' || !/^[^\s\p{Cc}]{1,255}$/u.test(value))
    throw new WaybillError('OPTION_INVALID', `${JSON.stringify(value)} is no host`, { option })
  return value
}

/** All known names; the compiler checks that none is missing. */
export type OptionNames<T> = Readonly<Record<keyof T, true>>

/** @param within what the options belong to, `attempt`; '' for none
 * @throws WaybillError OPTION_INVALID, which names the option */
export function checkOptionNames<T extends object>(given: T, names: OptionNames<T>, within = ''): void {
  // `connectionReuse: false` turns nothing off.
  if (typeof given !== 'object' || given === null)
    throw new WaybillError(
      'OPTION_INVALID',
      `expected an object with ${Object.keys(names).join(', ')}`,
      within === '' ? {} : { option: within },
    )
  for (const name of Object.keys(given))
    if (!Object.hasOwn(names, name))
      throw new WaybillError('OPTION_INVALID', `no such option; there are ${Object.keys(names).join(', ')}`, {
        option: within === '' ? name : `${within}.${name}`,
      })
}
