/** Reads the DSN parameters of MAIL and RCPT (RFC 3461).
 * Invariant: an invalid value is refused with 501, never ignored: after 250 the request applies. */
import type { SMTPServerAddress } from 'smtp-server'
import { isInternational } from '../../base/mail-address.js'
import {
  fromXtext,
  isEnvid,
  isOrcpt,
  notifyBits,
  notifyOfWords,
  retOfWord,
  type Notify,
  type RecipientDsn,
  type Ret,
} from '../../base/notification.js'
import type { SubmissionDsn } from '../../engine/accept/submission.js'
import { ReplyError } from './reply-error.js'

type Parameters = SMTPServerAddress['args']

export const senderDsnParameters: readonly string[] = ['RET', 'ENVID']
export const recipientDsnParameters: readonly string[] = ['NOTIFY', 'ORCPT']

/** Of MAIL. @returns undefined when nothing is asked. @throws ReplyError */
export function senderDsn(parameters: Parameters): SubmissionDsn | undefined {
  const { RET: ret, ENVID: id } = parameters || {}
  if (ret === undefined && id === undefined) return undefined
  return {
    id: id === undefined ? undefined : checked('ENVID', textOf('ENVID', id), isEnvid),
    return: ret === undefined ? undefined : retOf(textOf('RET', ret)),
  }
}

/** Of RCPT. @param smtputf8 the client has said so at MAIL.
 * @returns undefined when nothing is asked. @throws ReplyError */
export function recipientDsn(parameters: Parameters, smtputf8: boolean): RecipientDsn | undefined {
  const { NOTIFY: notify, ORCPT: orcpt } = parameters || {}
  if (notify === undefined && orcpt === undefined) return undefined
  return {
    notify: notify === undefined ? undefined : notifyOf(textOf('NOTIFY', notify)),
    orcpt:
      orcpt === undefined ? undefined : checked('ORCPT', orcptOf(textOf('ORCPT', orcpt), smtputf8), isOrcpt),
  }
}

function retOf(text: string): Ret {
  const ret = retOfWord(text)
  if (ret === undefined) throw wrong('RET')
  return ret
}

function notifyOf(text: string): Notify {
  const notify = notifyOfWords(text.toLowerCase().split(','))
  if (notifyBits(notify) === undefined) throw wrong('NOTIFY')
  return notify as Notify
}

/** Letters of an address of the type utf-8 come as they are where SMTPUTF8 was said, and are kept
 * in ASCII. RFC 6533 §3. What is no UTF-8, which smtp-server makes U+FFFD, is not kept as that. */
const orcptOf = (text: string, smtputf8: boolean): string =>
  smtputf8 && /^utf-8;/i.test(text) && !text.includes('\ufffd') ? inAscii(text) : text

const inAscii = (text: string): string =>
  text.replace(/[^\p{ASCII}]/gu, (letter) => `\\x{${letter.codePointAt(0)!.toString(16).toUpperCase()}}`)

/** For a client that gave none. @returns undefined when it is longer than one may be */
export function orcptOfAddress(address: string): string | undefined {
  const orcpt = isInternational(address) ? `utf-8;${inAscii(address)}` : `rfc822;${address}`
  return isOrcpt(orcpt) ? orcpt : undefined
}

function textOf(name: string, value: string | true): string {
  if (value === true) throw wrong(name)
  return value
}

function checked(name: string, text: string, isRight: (text: string) => boolean): string {
  if (!isRight(text)) throw wrong(name)
  return text
}

const wrong = (name: string): ReplyError =>
  new ReplyError({ code: 501, enhanced: '5.5.4' }, `${name} has an invalid value`)

/** The parameters of a command whose value should be xtext, and is not. */
export function* notXtext(command: string): Generator<string> {
  for (const [, name = '', value = ''] of command.matchAll(/\s(ENVID|ORCPT)=(\S*)/gi)) {
    // Letters outside ASCII are looked at when it is known whether they are allowed.
    const ascii = value.replace(/[^\p{ASCII}]/gu, 'x')
    if (fromXtext(ascii.slice(name.toUpperCase() === 'ORCPT' ? ascii.indexOf(';') + 1 : 0)) === undefined)
      yield name.toUpperCase()
  }
}
