/** Decides how much longer a client may take, from regular looks at its session. Pure.
 * Invariant: time counts only while the client is waited for. A request (a line, or a whole
 * message) has `requestMs`, which data wins back at 500 octets a second; a session without a
 * message has half an hour. So an octet a minute holds no session for ever, nor does a NOOP.
 * @see Postfix smtpd_per_request_deadline, smtpd_min_data_rate */

const dataBytesPerSecondMin = 500
const messageMsMax = 30 * 60_000

/** Counts since the session began, and what it is at. */
export interface SessionSight {
  readonly replyCount: number
  readonly messageCount: number
  readonly bytesRead: number
  readonly isInData: boolean
  /** The client waits for us. */
  readonly isOurTurn: boolean
}

export class ClientPace {
  readonly #requestMs: number
  #requestLeftMs: number
  #messageLeftMs = messageMsMax
  #replyCount = 0
  #messageCount = 0
  #bytesRead = 0

  /** @param requestMs for a request, milliseconds, > 0 */
  constructor(requestMs: number) {
    this.#requestMs = requestMs
    this.#requestLeftMs = requestMs
  }

  /** @param passedMs since the last look
   * @returns whether the client has time left */
  looksAlive(sight: SessionSight, passedMs: number): boolean {
    const { replyCount, messageCount, bytesRead, isInData, isOurTurn } = sight
    if (replyCount !== this.#replyCount) this.#requestLeftMs = this.#requestMs
    else if (!isOurTurn) this.#requestLeftMs -= passedMs
    if (messageCount !== this.#messageCount) this.#messageLeftMs = messageMsMax
    else if (!isOurTurn && !isInData) this.#messageLeftMs -= passedMs
    if (isInData) {
      // Behind STARTTLS the count begins again.
      const wonMs = (Math.max(0, bytesRead - this.#bytesRead) * 1000) / dataBytesPerSecondMin
      this.#requestLeftMs = Math.min(this.#requestMs, this.#requestLeftMs + wonMs)
    }
    this.#replyCount = replyCount
    this.#messageCount = messageCount
    this.#bytesRead = bytesRead
    return this.#requestLeftMs > 0 && this.#messageLeftMs > 0
  }
}
