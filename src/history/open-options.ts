/** The options of `openQueue`: those of the engine, and the history.
 * Invariant: the names are in one place, so that a wrong name is answered with all that there
 * are. */
import { checkOptionNames, type OptionNames } from '../base/options.js'
import { queueOptionNames, type QueueOptions } from '../engine/life/options.js'
import type { HistoryOptions } from './history.js'

export interface OpenOptions extends QueueOptions {
  /** The history of messages is kept, for `queue.history()`. Default: it is not. */
  readonly history?: HistoryOptions | undefined
}

export const openOptionNames: OptionNames<OpenOptions> = { ...queueOptionNames, history: true }

/** @throws WaybillError OPTION_INVALID */
export const checkOpenOptions = (given: OpenOptions): void => checkOptionNames(given, openOptionNames)
