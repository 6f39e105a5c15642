/** The users that may log in, from a file with lines `NAME:HASH`. Pure.
 * Invariant: an error names the line and nothing that stands in it. */
import { WaybillError, type Place } from '../../errors.js'
import { parseHash, type PasswordHash } from './password-hash.js'
import { tableLines } from './table-lines.js'

export type Users = ReadonlyMap<string, PasswordHash>

/** Characters of a name. */
export const nameLengthMax = 255

/** Without blanks, and nothing that would be another line, a comment, or the end of the name. What
 * was no UTF-8 comes as U+FFFD. */
export const isUserName = (text: string): boolean =>
  text.length <= nameLengthMax && /^[^\s\p{Cc}:#\ufffd][^\s\p{Cc}:\ufffd]*$/u.test(text)

/** Blank lines and those that begin with `#` say nothing.
 * @throws WaybillError OPTION_INVALID */
export function usersIn(text: string, path: string): Users {
  const users = new Map<string, PasswordHash>()
  const bad = (reason: string, place: Place): WaybillError =>
    new WaybillError('OPTION_INVALID', reason, place)
  for (const { text: line, place } of tableLines(text, 'auth', path)) {
    const [, name = '', word = ''] = /^([^:]*):(.*)$/.exec(line) ?? []
    const hash = parseHash(word)
    if (!isUserName(name) || hash === undefined)
      throw bad('a user is a line NAME:HASH, as `waybill password NAME` prints it', place)
    if (users.has(name)) throw bad('this user has a line above', place)
    users.set(name, hash)
  }
  if (users.size === 0) throw bad('there is no user', { option: 'auth', path })
  return users
}
