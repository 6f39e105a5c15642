/** What the replies of a server mean for a recipient. Pure.
 * Invariant: nothing but a 5yz reply to this very transaction makes an outcome `failed`; whatever
 * else happens is tried again. */
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
 * @param statusUsual when the server names none */
export function siteOfReply(text: string, statusUsual: string = '4.4.0'): SiteTrouble {
  const { enhanced } = parsed(text)
  return {
    kind: 'site',
    status: enhanced === undefined ? statusUsual : `4${enhanced.slice(1)}`,
    reason: text,
  }
}

/** It begins as one does. */
export const isReply = (text: string): boolean => /^[2-5]\d\d(?:[ -]|$)/.test(text)

export const isRefusal = (text: string): boolean => /^[45]\d\d/.test(text)

export const isClosing = (text: string): boolean => text.startsWith('421')
