/** Decides which parameters MAIL and RCPT may have, and how others are refused. */
import type { SMTPServerAddress } from 'smtp-server'
import { ReplyError } from './reply-error.js'

/** Of MAIL: RFC 1870, 6152, 6531, 8689 (with a special reply); logins elsewhere do not
 * matter, RFC 4954 §5. */
export const senderParameters: readonly string[] = ['SIZE', 'BODY', 'SMTPUTF8', 'REQUIRETLS', 'AUTH']

/** RFC 5321 §4.1.1.11: what is asked for and not done is no 250. Smtp-server passes over what it
 * does not know.
 *    1. a list sends with NOTIFY=NEVER, which nobody offered
 *    2. it gets 250
 *    3. it gets reports all the same */
export function parameterError(
  args: SMTPServerAddress['args'],
  known: readonly string[],
): ReplyError | undefined {
  const name = Object.keys(args || {}).find((name) => !known.includes(name))
  return name === undefined
    ? undefined
    : new ReplyError({ code: 555, enhanced: '5.5.4' }, `unsupported parameter: ${name.slice(0, 100)}`)
}

export function thrownBy(check: () => unknown): ReplyError | null {
  try {
    check()
    return null
  } catch (error) {
    if (error instanceof ReplyError) return error
    throw error
  }
}
