/** Writes the relay's log: mail with its clients and outcomes, refusals, and requests of operators.
 * Invariant: a settled message has a line `accepted` with its client, and a line `finished` at its
 * end; a report has `reported` instead. A refused request of an operator has one line. */
import type { Logger } from 'pino'
import type { ControlOptions, Queue, Transport } from '../../../src/index.js'
import type { SmtpFrontCallbacks } from '../../../src/relay/smtp-in/smtp-front.js'
import { systemClock } from '../../../src/base/clock.js'
import type { RelayDoor } from '../door/door.js'
import { LimitedLines } from './limited-lines.js'
import { LimitWatch, lookMs } from './limit-watch.js'
import { SiteWatch } from './site-watch.js'

/** A level that is not logged has no listeners, and costs nothing. */
export function logEvents(queue: Queue, log: Logger): void {
  queue.on('warning', (event) => log.warn(event))
  if (log.isLevelEnabled('warn'))
    queue.on('slowed', ({ untilMs, ...what }) =>
      log.warn({ ...what, until: new Date(untilMs).toISOString() }, 'a site is sent to more slowly'),
    )
  if (log.isLevelEnabled('warn'))
    queue.on('suspended', ({ untilAt, ...what }) => {
      const until = untilAt === Infinity ? undefined : new Date(untilAt).toISOString()
      log.warn({ ...what, until }, 'deliveries are suspended')
    })
  if (log.isLevelEnabled('warn')) watchTrouble(queue, log)
  if (!log.isLevelEnabled('info')) return
  queue.on('recovered', (event) => log.info(event, 'recovered'))
  queue.on('delivered', (event) => log.info(event, 'delivered'))
  queue.on('deferred', (event) => log.info(event, 'deferred'))
  queue.on('failed', (event) => log.info(event, 'failed'))
  queue.on('expired', (event) => log.info(event, 'expired'))
  queue.on('deleted', (event) => log.info(event, 'deleted'))
  queue.on('reported', (event) => log.info(event, 'reported'))
  queue.on('finished', (event) => log.info(event, 'finished'))
  queue.on('feedback', (event) => log.info(event, 'feedback'))
  queue.on('resumed', (event) => log.info(event, 'deliveries are resumed'))
  if (log.isLevelEnabled('debug')) queue.on('requeued', (event) => log.debug(event, 'requeued'))
}

function watchTrouble(queue: Queue, log: Logger): void {
  const sites = new SiteWatch(log, () => systemClock.monotonicMs())
  queue.on('dead', (event) => sites.dead(event))
  queue.on('delivered', (event) => sites.delivered(event))
  const limits = new LimitWatch(log, () => queue.stats().destinations)
  const look = (): void => limits.look(queue.stats({ destinations: 'limited' }), systemClock.monotonicMs())
  const timer = setInterval(look, lookMs)
  timer.unref()
  queue.once('crashed', () => clearInterval(timer))
}

/** Transports that log each attempt when it begins, for the level `debug`. */
export function withLoggedAttempts(
  transports: Readonly<Record<string, Transport>>,
  log: Logger,
): Readonly<Record<string, Transport>> {
  if (!log.isLevelEnabled('debug')) return transports
  const logged = (name: string, transport: Transport): Transport => ({
    releasesSignal: transport.releasesSignal === true,
    get sources() {
      return transport.sources
    },
    close: () => transport.close?.(),
    deliver: (request, signal) => {
      const { id, sender, recipients, nexthop, attempts } = request
      log.debug({ id, sender, recipients, transport: name, nexthop, attempt: attempts + 1 }, 'attempt')
      return transport.deliver(request, signal)
    },
  })
  return Object.fromEntries(
    Object.entries(transports).map(([name, transport]) => [name, logged(name, transport)]),
  )
}

type LoggedQueue = Pick<Queue, 'on' | 'submit' | 'limits'>

/** The queue, with a log of the clients that bring messages. */
export function withLoggedClients(queue: LoggedQueue, log: Logger): RelayDoor {
  if (!log.isLevelEnabled('info')) return queue
  // Of the messages of this turn, in which their `submit` settles, whatever way they came.
  const sizes = new Map<string, number>()
  queue.on('accepted', ({ id, dataBytes }) => {
    if (sizes.size === 0) setImmediate(() => sizes.clear())
    sizes.set(id, dataBytes)
  })
  return {
    limits: queue.limits,
    submit: async (submission, client, trace) => {
      const { sender, recipients, hold, notBefore } = submission
      const accepted = await queue.submit(submission)
      const { id, isDuplicate } = accepted
      const dataBytes = sizes.get(id)
      const recipientCount = recipients.length
      if (isDuplicate === true) log.info({ id, client, ...trace, sender }, 'accepted before')
      else log.info({ id, client, ...trace, sender, recipientCount, dataBytes, hold, notBefore }, 'accepted')
      return accepted
    },
  }
}

/** `reload` logs its own result; the others come with each listing. */
const isUntold: ReadonlySet<string> = new Set(['reload', 'routes', 'written'])

/** Of the control socket. */
export const controlWitness = (
  log: Logger,
): Required<Pick<ControlOptions, 'onRequest' | 'onOutcome' | 'onRefusal'>> => ({
  onRequest: (request) => {
    if (!isUntold.has(request.do)) log.info({ control: request }, 'asked over the control socket')
  },
  onOutcome: (request, outcome) => log.info({ control: request, outcome }, 'carried out'),
  onRefusal: (request, error) => {
    if (request.do !== 'reload') log.warn({ control: request, err: error }, 'not carried out')
  },
})

/** Of the SMTP server. A full disk, or a table that makes too many recipients, is the operator's
 * trouble, not the client's. */
export function clientWitness(log: Logger): SmtpFrontCallbacks {
  const limited = new LimitedLines((client, lines) =>
    log.warn({ client: { address: client }, lines }, 'lines about a client were left out'),
  )
  return {
    onError: (error) => limited.line('', () => log.warn({ err: error }, 'a client could not be served')),
    onRefusal: (refusal) =>
      limited.line(refusal.client.address, () => {
        const isOwnTrouble = /^4\.(?:3\.1|6\.0) /.test(refusal.reply)
        log[isOwnTrouble ? 'warn' : 'info'](refusal, 'refused')
      }),
  }
}
