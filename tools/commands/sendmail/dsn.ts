/** The DSN options of `sendmail`: -N, -R and -V, as in Postfix.
 * Invariant: mail matters more than its reports, so an invalid option is reported and ignored. */
import { isEnvid, notifyBits, notifyOfWords, retOfWord, type Notify } from '../../../src/base/notification.js'
import type { SubmissionDsn } from '../../../src/index.js'
import type { Arguments } from '../cli/command.js'

export function askedBy(args: Arguments, complain: (text: string) => unknown): SubmissionDsn {
  const value = <T>(option: string, read: (text: string) => T | undefined): T | undefined => {
    const text = args.one(option)
    if (text === undefined) return undefined
    const found = read(text)
    if (found === undefined) complain(`-${option} ${text} is none, and ignored`)
    return found
  }
  return {
    notify: value('N', notifyOf),
    return: value('R', retOfWord),
    id: value('V', (text) => (isEnvid(text) ? text : undefined)),
  }
}

function notifyOf(text: string): Notify | undefined {
  const words = text
    .toLowerCase()
    .split(',')
    .map((word) => word.trim())
  const notify = notifyOfWords(words)
  return notifyBits(notify) === undefined ? undefined : (notify as Notify)
}
