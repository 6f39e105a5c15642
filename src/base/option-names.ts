/** Refuses options with an unknown name: they are mistakes. */
import { WaybillError } from '../errors.js'

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
