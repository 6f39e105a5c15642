/** The door of a relay: the entry of all its mail, and what is done with mail on its way in.
 * Invariant: each `with…` takes a door and makes one that changes one thing, so that a relay stands
 * them before each other in the order of relay.ts. The log's own is in log/log.ts. */
import type { Logger } from 'pino'
import type { Accepted, Queue, Submission } from '../../../src/index.js'
import { QueueStarts } from '../../../src/relay/etrn.js'
import type { InFlowDelay } from '../../../src/relay/in-flow-delay.js'
import { expandedAll } from '../../../src/relay/smtp-in/expanded-recipients.js'
import type { SubmitPort } from '../../../src/relay/smtp-in/smtp-handlers.js'
import type { Aliases } from '../../../src/relay/tables/aliases.js'

/** The entry of all mail into a relay. */
export interface RelayDoor extends SubmitPort {
  /** @param client its client, for the log @param trace its origin */
  submit(submission: Submission, client?: object, trace?: object): Promise<Accepted>
}

/** The door that also starts mail which waits for a domain: ETRN. */
export function withEtrn(port: RelayDoor, queue: Pick<Queue, 'flush'>, log: Logger): RelayDoor {
  const starts = new QueueStarts(async (domain) => {
    try {
      const { messageCount } = await queue.flush({ domain })
      log.info({ domain, messageCount }, 'ETRN: mail has been started')
    } catch (error) {
      log.warn({ domain, err: error }, 'ETRN: not carried out')
    }
  })
  return {
    limits: port.limits,
    submit: (submission, client, trace) => port.submit(submission, client, trace),
    startQueue: (domain, client) => {
      const isBegun = starts.start(domain)
      log.info({ domain, client, isBegun }, 'ETRN')
    },
  }
}

/** The door whose answers wait for the turn of their client. @see Postfix in_flow_delay */
export const withInFlowDelay = (port: RelayDoor, flow: InFlowDelay): RelayDoor => ({
  ...(port.startQueue === undefined ? undefined : { startQueue: port.startQueue }),
  limits: port.limits,
  submit: async (submission, client, trace) => {
    const accepted = await port.submit(submission, client, trace)
    await flow.turn((client as { readonly address?: string } | undefined)?.address ?? '')
    return accepted
  },
})

/** The door that adds a recipient to each message. The sender gets no reports of it, and sees it
 * nowhere. @see Postfix always_bcc */
export const withBcc = (port: RelayDoor, bcc: () => string | undefined): RelayDoor => ({
  limits: port.limits,
  submit: (submission, client, trace) => {
    const address = bcc()
    const { recipients } = submission
    const isThere = recipients.some(
      (recipient) => (typeof recipient === 'string' ? recipient : recipient.address) === address,
    )
    if (address === undefined || isThere) return port.submit(submission, client, trace)
    const copy = { address, notify: 'never' } as const
    return port.submit({ ...submission, recipients: [...recipients, copy] }, client, trace)
  },
})

/** The door that puts a message on hold when `holds` says so of one of its recipients.
 * @see Postfix access(5), HOLD */
export const withHold = (port: RelayDoor, holds: (recipient: string) => boolean): RelayDoor => ({
  limits: port.limits,
  submit: (submission, client, trace) => {
    const hold = submission.recipients.some((recipient) =>
      holds(typeof recipient === 'string' ? recipient : recipient.address),
    )
    return port.submit(hold ? { ...submission, hold } : submission, client, trace)
  },
})

/** The door that expands aliases, as SMTP does for mail of its clients. */
export const withAliases = (port: RelayDoor, aliases: () => Aliases | undefined): RelayDoor => ({
  limits: port.limits,
  submit: async (submission, client, trace) => {
    const table = aliases()
    if (table === undefined) return port.submit(submission, client, trace)
    const recipients = expandedAll(submission.recipients, table, port.limits.recipientCountMax)
    return port.submit({ ...submission, recipients }, client, trace)
  },
})
