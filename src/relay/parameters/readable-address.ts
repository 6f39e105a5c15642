/** Checks an address that a client names. Pure. */
import { isMailAddress } from '../../base/mail-address.js'
import { ReplyError } from './reply-error.js'

/** Octets that are no UTF-8 come as U+FFFD: the mail would be for another address, and the same for
 * all of them. */
export const isReadable = (address: string): boolean => !address.includes('\ufffd') && isMailAddress(address)

/** @param enhanced 5.1.7 for a sender, 5.1.3 for a recipient */
export const badAddress = (enhanced: '5.1.3' | '5.1.7'): ReplyError =>
  new ReplyError({ code: 501, enhanced }, 'bad address syntax')
