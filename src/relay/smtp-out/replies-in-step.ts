/** Whether what a server has said can be told apart, reply by reply. Pure.
 * Invariant: a reply counts only where it cannot be another command's. Of a server that says more
 * than it was asked nobody knows which of its replies is the one too many, so none of them counts,
 * but where it makes no difference:
 *    1. LMTP, three recipients, four replies
 *    2. each is taken for the recipient before
 *    3. the last one was refused, and counts as delivered */

/** Lines that a server may send unasked before it is let go. */
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

/** @returns what is wrong */
export function stepFault({ waiting, askedCount, isBehindData, said }: Exchange): string | undefined {
  if (waiting.length > askedCount + idleLinesMax) return 'replies without a command'
  const replies = waiting.filter((reply) => reply.trim() !== '')
  const odd = replies.find((reply) => !isReply(reply) || (isBehindData && !/^[245]/.test(reply)))
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
function isReply(text: string): boolean {
  const [first, ...others] = text.split('\n').map((line) => replyLine.exec(line)?.[1])
  return first !== undefined && others.every((code) => code === first)
}
