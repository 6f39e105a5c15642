/** Names of the transports that a relay has without being told, as in Postfix's master.cf. */

/** Of all mail to servers for which no line of --routes names one. */
export const transportDefault = 'smtp'
/** The same of mail for the domains of `--relay-domains`. */
export const transportRelay = 'relay'
/** Of mail that stays here, where there are Maildirs: a line `PATTERN maildir:`. */
export const transportLocal = 'maildir'
/** Of mail for a server of mailboxes: a line `PATTERN lmtp:SERVER`. */
export const transportLmtp = 'lmtp'
/** Of mail for programs: a line `PATTERN pipe:COMMAND`. */
export const transportPipe = 'pipe'
