/** Finds names of transports with which a parameter's name would begin. Pure. */
import { checkedParameters } from '../../../src/scheduler/parameter-bounds.js'

/** What parameters begin with that are not a transport's own. */
const beginnings = (): string[] => [
  'default_',
  'defer_',
  'always_',
  'initial_',
  'in_',
  'delay_',
  'bounce_',
  'maximal_',
  'qmgr_',
  ...Object.keys(checkedParameters({})).map(snakeCase),
]

/** May it be no transport's name, because a parameter begins with it? With a transport `qmgr`,
 * `qmgr_message_active_limit=5` would be a parameter of that. */
export const beginsParameter = (name: string): boolean =>
  beginnings().some((beginning) => beginning.startsWith(`${name}_`))

export const snakeCase = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
