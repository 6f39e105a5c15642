/** Interprets the replies of a server, and the ways in which a connection ends. Pure.
 * Invariants:
 * 1. Nothing but a 5yz reply to this very transaction makes an outcome `failed`; whatever else
 * happens is tried again.
 * 2. A reply counts only where it cannot be another command's (`stepFault`).
 * 3. What has to do with TLS has the code `ETLS`, whatever nodemailer calls it. */
import { thrownText } from '../../base/realms.js'
import type { Outcome, SiteTrouble } from '../../delivery/transport.js'

/** Where in the session a reply came, as far as it changes the meaning. */
export type Stage = 'session' | 'mail' | 'recipient' | 'data'

/** A reply that we asked for; `text` has the whole of it, codes included. */
interface Reply {
  readonly code: number
  readonly enhanced: string | undefined
  readonly text: string
}

function parsed(text: string): Reply {
  const match = /^(\d{3})(?:[ -]([245]\.\d{1,3}\.\d{1,3})(?![\d.]))?/.exec(text)
  const code = Number(match?.[1] ?? 0)
  const enhanced = match?.[2]
  const belongs = enhanced !== undefined && enhanced.charCodeAt(0) === text.charCodeAt(0)
  return { code, enhanced: belongs ? enhanced : undefined, text }
}

/** @param text the reply as it came, lines joined by `\n`. */
export function outcomeOfReply(text: string, stage: Stage): Outcome {
  const { code, enhanced } = parsed(text)
  const replyClass = Math.floor(code / 100)
  if (replyClass === 2) return { kind: 'delivered', response: text }
  if (replyClass === 4) return { kind: 'deferred', status: enhanced ?? '4.0.0', reason: text }
  if (replyClass === 5) {
    // RFC 5321 §4.5.3.1.10: a bare 552 to RCPT is how older servers say "too many recipients".
    if (code === 552 && stage === 'recipient' && enhanced === undefined) {
      return { kind: 'deferred', status: '4.5.3', reason: text }
    }
    // 503 says that the session went out of step, nothing about the message.
    if (code === 503) return { kind: 'deferred', status: '4.5.1', reason: text }
    return { kind: 'failed', status: enhanced ?? '5.0.0', reason: text }
  }
  return { kind: 'deferred', status: '4.5.0', reason: `not an SMTP reply: ${text}` }
}

/** Trouble before or between transactions. A server that greets with 5yz does not want us now; it
 * has not seen the message.
 * @param statusDefault when the server names none */
export function siteOfReply(text: string, statusDefault: string = '4.4.0'): SiteTrouble {
  const { enhanced } = parsed(text)
  return {
    kind: 'site',
    status: enhanced === undefined ? statusDefault : `4${enhanced.slice(1)}`,
    reason: text,
  }
}

/** It begins as one does. */
export const isReply = (text: string): boolean => /^[2-5]\d\d(?:[ -]|$)/.test(text)

export const isRefusal = (text: string): boolean => /^[45]\d\d/.test(text)

export const isClosing = (text: string): boolean => text.startsWith('421')

/** Why a connection ended, or never was: nodemailer's errors, as far as we look at them, in words
 * that name what was missing. */
export interface ClientError extends Error {
  /** `ETLS`: the handshake failed, in whatever way; or there was none to be had, which
   * has a response. */
  readonly code?: string | undefined
  readonly originalCode?: string | undefined
  readonly command?: string | undefined
  /** The server's reply, when it is one that made the error. */
  readonly response?: string | undefined
  readonly recipient?: string | undefined
}

/** Nodemailer calls most of them errors of the socket, with OpenSSL's whole line or Node's words
 * for a hang-up. */
export function handshakeFailed(error: ClientError & { readonly reason?: string }): ClientError {
  const { originalCode } = error
  const detail = originalCode?.startsWith('ERR_SSL_') === true ? error.reason : undefined
  return Object.assign(
    new Error(`the TLS handshake failed: ${detail ?? thrownText(error)}`, { cause: error }),
    {
      code: 'ETLS',
      originalCode,
    },
  )
}

/** A session that must have TLS asks for it unoffered, too. @param ehlo the reply to EHLO */
export function startTlsRefused(error: ClientError, ehlo: string): ClientError {
  const what = /^250[ -]STARTTLS\b/im.test(ehlo) ? 'refused' : 'not offered'
  const { response = '', command } = error
  const message = `TLS is required, and STARTTLS was ${what}: ${response}`
  return Object.assign(new Error(message, { cause: error }), { code: 'ETLS', response, command })
}

export const lost = (): ClientError =>
  Object.assign(new Error('the connection was closed'), { code: 'ECONNECTION' })

/** Lines that a server may send unasked before its connection is closed. */
const idleLinesMax = 100

const replyLine = /^(\d{3})(?:[ \t-]|$)/

/** What a server was asked and has said. */
export interface Exchange {
  /** Replies that have come and were not looked at, lines joined by `\n`. */
  readonly waiting: readonly string[]
  /** Commands, or recipients of LMTP behind the data, that have no reply yet. */
  readonly askedCount: number
  /** The end of the data has left. */
  readonly isBehindData: boolean
  /** LMTP's replies to that data, up to now; undefined where there is only one. */
  readonly said: readonly string[] | undefined
}

/** Whether what a server has said can be told apart, reply by reply. Of a server that says more
 * than it was asked nobody knows which of its replies is the one too many, so none of them counts,
 * but where it makes no difference:
 *    1. LMTP, three recipients, four replies
 *    2. each is taken for the recipient before
 *    3. the last one was refused, and counts as delivered
 * @returns what is wrong */
export function stepFault({ waiting, askedCount, isBehindData, said }: Exchange): string | undefined {
  if (waiting.length > askedCount + idleLinesMax) return 'replies without a command'
  const replies = waiting.filter((reply) => reply.trim() !== '')
  const odd = replies.find((reply) => !isOneReply(reply) || (isBehindData && !/^[245]/.test(reply)))
  if (odd !== undefined) return `not an SMTP reply: ${odd}`
  // A server that closes may say so behind any reply.
  const meant = replies.filter((reply) => !reply.startsWith('421'))
  if (askedCount === 0 || meant.length <= askedCount) return undefined
  if (isBehindData && (said === undefined ? meant[0]!.startsWith('2') : areAlike([...said, ...meant])))
    return undefined
  return `a reply too many: ${meant.join(' ')}`
}

const areAlike = ([first, ...others]: readonly string[]): boolean =>
  others.every((reply) => reply[0] === first![0])

/** RFC 5321 §4.2.1: each line has the same code.
 * @see Postfix smtp_chat_resp, which goes on behind others, but not with pipelining */
function isOneReply(text: string): boolean {
  const [first, ...others] = text.split('\n').map((line) => replyLine.exec(line)?.[1])
  return first !== undefined && others.every((code) => code === first)
}
