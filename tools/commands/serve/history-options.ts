/** `serve --history`: how long messages that have ended can be looked up. */
import { historyBounds, type HistoryOptions } from '../../../src/history/history.js'
import { isWaybillError } from '../../../src/errors.js'
import { UsageError, type Arguments } from '../cli/command.js'
import { parseBytes, parseDurationOption } from '../cli/values.js'

/** @param isInStore the queue lies in no directory
 * @returns undefined: no history is kept */
export function historyOf(args: Arguments, isInStore: boolean): HistoryOptions | undefined {
  const time = args.one('history')
  const bytes = args.one('history-bytes')
  if (time === undefined) {
    if (bytes !== undefined) throw new UsageError('--history-bytes needs --history')
    return undefined
  }
  if (isInStore) throw new UsageError('--history needs a queue in a directory')
  const options = {
    retentionMs: parseDurationOption('history', time),
    ...(bytes === undefined ? undefined : { bytesMax: parseBytes('history-bytes', bytes) }),
  }
  try {
    historyBounds(options)
  } catch (error) {
    if (isWaybillError(error, 'OPTION_INVALID'))
      throw new UsageError('--history is from 1h to 3650d, --history-bytes from 32M to 1024G')
    throw error
  }
  return options
}
