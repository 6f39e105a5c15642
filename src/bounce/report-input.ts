/** The input of a report.
 * Invariant: everything from outside (addresses, remote text, the original's header) is taken as
 * hostile. Everything that differs between calls (time, id) is in here, so that the same input
 * gives the same bytes. */

export interface ReportedRecipient {
  readonly address: string
  /** `relayed`: to a server that sends no reports of success. */
  readonly action: 'failed' | 'delayed' | 'delivered' | 'relayed'
  /** RFC 3463, `5.1.1`; anything else is reported as 5.0.0, 4.0.0 or 2.0.0. */
  readonly status: string
  /** Our own words; with `remote` the reply of that server at their end. */
  readonly reason: string
  /** The server that replied, `mx.example.net[192.0.2.1]:25`. */
  readonly remote?: string | undefined
  /** The original recipient (ORCPT), `rfc822;ada@example.org`, if given. */
  readonly orcpt?: string | undefined
}

/** Does any recipient have this outcome? */
export const tellsOf = (
  recipients: readonly Pick<ReportedRecipient, 'action'>[],
  wanted: ReportedRecipient['action'],
): boolean => recipients.some(({ action }) => action === wanted)

export interface ReportInput {
  /** Id of the report itself; becomes its Message-ID. */
  readonly id: string
  readonly originalId: string
  /** The recipient of the report. */
  readonly originalSender: string
  /** At least one. */
  readonly recipients: readonly ReportedRecipient[]
  readonly acceptedAtMs: number
  /** The instant of the report; recorded, not read from a clock, when a report is composed again
   * after a crash. */
  readonly nowMs: number
  /** When delayed recipients will be given up, if that is known. */
  readonly giveUpAtMs?: number | undefined
  /** A host name or address literal, from the configuration. */
  readonly reportingMta: string
  /** The address in From, in ASCII. Default: MAILER-DAEMON there. */
  readonly author?: string | undefined
  /** The original or its beginning; undefined when only the embedder can read it. */
  readonly data: Buffer | undefined
  /** Length of the whole original; 0 when it is not known. */
  readonly dataBytes: number
  /** The original was submitted with SMTPUTF8. */
  readonly smtputf8: boolean
  /** The sender's envelope id (ENVID) of the original, if given. */
  readonly envid?: string | undefined
  /** The sender wants all of it back, with a failure. */
  readonly returnsFull?: boolean | undefined
}
