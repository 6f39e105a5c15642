/** A relay from its options to its open ports, and through its reloads.
 * Invariant:
 *   1. Every value is read, and every port tried, before anything is made: what is wrong changes
 *      nothing.
 *   2. A port is opened when the queue can take mail. One that cannot be had crashes the queue.
 *   3. A reload that is refused changes nothing; one that is accepted changes all that it can. */
import { pino, type Logger } from 'pino'
import { systemClock } from '../../../src/base/clock.js'
import { Conversations } from '../../../src/delivery/conversation.js'
import { madeDirectory } from '../../../src/disk/names.js'
import { Figures } from '../../../src/http/figures/figures.js'
import { expirySoonMs, type RelayFacts } from '../../../src/http/figures/problems.js'
import type { QueuePlace } from '../../../src/http/figures/queues.js'
import {
  isWaybillError,
  type Change,
  type ControlOptions,
  type OpenOptions,
  type Queue,
  type Transport,
} from '../../../src/index.js'
import { InFlowDelay } from '../../../src/relay/in-flow-delay.js'
import type { HowToListen, Listener } from '../../../src/relay/listening.js'
import { makeMaildrop } from '../../../src/relay/maildrop/maildrop-file.js'
import { Pickup } from '../../../src/relay/maildrop/pickup.js'
import { networkList } from '../../../src/relay/smtp-in/client-networks.js'
import { domainsBytesMax } from '../../../src/relay/smtp-in/completed-header.js'
import { receivedBytesMax } from '../../../src/relay/smtp-in/received.js'
import { listenSmtpOnThread } from '../../../src/relay/smtp-in/smtp-front.js'
import { listenSmtp, type SmtpListener } from '../../../src/relay/smtp-in/smtp-in.js'
import { isForRelayDomain } from '../../../src/relay/tables/recipient-standing.js'
import type { Arguments } from '../cli/command.js'
import { answerListings } from './mailq-ports.js'
import { refuseForeignDirectory } from '../cli/queue-owner.js'
import { formatEndpoint, type Endpoint } from '../cli/values.js'
import { versionText } from '../cli/version.js'
import { withAliases, withBcc, withEtrn, withHold, withInFlowDelay, type RelayDoor } from '../door/door.js'
import { Retirement } from '../door/retirement.js'
import { CertificateWatch } from '../log/certificate-watch.js'
import { descriptorsNeeded, tellDescriptorLimit } from '../log/descriptor-limit.js'
import { descriptorSink, LogLines } from '../log/log-lines.js'
import {
  clientWitness,
  controlWitness,
  logEvents,
  withLoggedAttempts,
  withLoggedClients,
} from '../log/log.js'
import { monotonicNow, systemdOf, type Notify } from '../log/systemd.js'
import { processLimitOf } from '../parameters/scheduler-parameters.js'
import { sharedLimits, sharedScheduler, Shares } from '../parameters/shares.js'
import { clauseAgentsOf } from '../policy/agent-options.js'
import { tellIdleClauses, tellMissingLanes } from '../policy/scheduler-conf.js'
import type { Adoption } from '../store/adoption.js'
import { asError, isJournal, withPriority } from '../text/journal.js'
import { logText } from '../text/log-text.js'
import { escapedJson } from '../text/shown-text.js'
import type { ConfiguredArguments } from './config.js'
import { consolePages } from './console-pages.js'
import { tellProofs } from './dane.js'
import {
  mtaStsOf,
  reportAuthorOf,
  reportRecipientsOf,
  requeueRecipientsOf,
  retryOf,
  routeOf,
  sourcesOf,
} from './delivery.js'
import { factsOf, firstExpiryOf, loadHttp, validitiesOf, type RelayHttp } from './http.js'
import { answerForMetrics, loadMetrics, type RelayMetrics } from './metrics.js'
import { madeMailboxDirectory, optionOf, tellPlaces, tryPorts } from './places.js'
import { adoptionOf, openHome, queuePlaceOf, serveControlAt, type OpenedHome } from './queue-home.js'
import { reloads } from './reload.js'
import { settingsOf, waysOf, type Settings, type Ways } from './settings.js'
import { Stopping } from './stopping.js'
import { reloaded, saidBy, tellTables, type Said } from './tables.js'
import { behindAgents, defaultTransport, ReplaceableTransports, transportsOf } from './transports.js'
import { postToWebhook, waitingCountOf, type WebhookState } from './webhook.js'

const roomNeeded =
  'waybill: a queue takes 64 MiB of its disk at rest, and needs 64 MiB free above that to take mail\n'

/** Settles when the relay takes mail.
 * @param readAgain reads the file of `--config` for a reload @throws UsageError, WaybillError */
export async function startRelay(
  args: Arguments,
  readAgain: () => Promise<ConfiguredArguments>,
): Promise<void> {
  const where = await waysOf(args)
  const { home } = where
  const ways = new MailWays(args, where, await saidBy(args, where))
  const settings = settingsOf(args, where)
  const transports = ways.replace(await ways.transportsOf(ways.said))
  const loaded = {
    metrics: settings.metrics.length === 0 ? undefined : await loadMetrics(),
    http: hasHttp(settings) ? await loadHttp() : undefined,
    pages: settings.console.length === 0 ? [] : consolePages(),
  }
  await tryPorts(portsOf(args, settings))
  const maildir = args.one('maildir')
  if (maildir !== undefined) await madeMailboxDirectory(maildir)
  if (home.directory !== undefined) {
    await refuseForeignDirectory(home.directory)
    await madeDirectory(home.directory)
  }
  const log = logOf(settings)
  const notify = systemdOf(log)
  const options = optionsOf(settings, ways, withLoggedAttempts(transports, log))
  const place = await queuePlaceOf(home)
  const opened = await openHome(home, options, log).catch((error: unknown) => {
    if (isWaybillError(error, 'DISK_FULL')) process.stderr.write(asError(roomNeeded))
    throw error
  })
  // In this turn: what happens before it is not counted.
  const relay = new Relay({ args, settings, ways, log, notify, place, opened, loaded })
  await relay.run(options, readAgain)
}

const hasHttp = ({ http, console }: Ways): boolean => http.length + console.length > 0

function portsOf(
  args: Arguments,
  settings: Settings,
): { option: string; endpoint: Endpoint & HowToListen }[] {
  // A trial on a shared port would be given connections.
  const own = settings.places.filter(({ sharesPort }) => sharesPort !== true)
  const others = (['metrics', 'mailq', 'http', 'console'] as const).flatMap((option) =>
    settings[option].map((endpoint) => ({ option, endpoint })),
  )
  const sources = sourcesOf(args).sourceAddresses ?? []
  return [
    ...own.map((endpoint) => ({ option: optionOf(endpoint), endpoint })),
    ...others,
    ...sources.map((host) => ({ option: 'source-address', endpoint: { host, port: 0 } })),
  ]
}

function logOf({ level, isText }: Settings): Logger {
  const lineShown = isText ? logText : escapedJson
  const lines = new LogLines(descriptorSink(2), isJournal() ? withPriority(lineShown) : lineShown)
  // SIGKILL takes the last lines with it.
  process.on('exit', () => lines.flushNow())
  const log = pino({ level, base: null }, lines)
  // What it says there stands in the log as well.
  process.stdout.on('error', (error) => log.warn({ err: error }, 'standard output cannot be written'))
  return log
}

/** What tables and parameters say now of the ways that mail goes, and the transports for them. */
class MailWays {
  readonly retry: OpenOptions['retry'] & object
  readonly conversations = new Conversations()
  readonly #transports = new ReplaceableTransports()
  /** @throws UsageError, WaybillError OPTION_INVALID: what is said will not do */
  readonly transportsOf: (said: Said) => Promise<Record<string, Transport>>
  said: Said

  /** @throws UsageError */
  constructor(args: Arguments, where: Ways, said: Said) {
    this.said = said
    this.retry = said.tables.policy ?? retryOf(args, said.parameters)
    const surroundings = {
      ...where,
      ownMail: () => this.said.tables.clients,
      ...mtaStsOf(args),
      onConversation: hasHttp(where) ? this.conversations.add.bind(this.conversations) : undefined,
    }
    const agents = clauseAgentsOf(args, () => this.said.tables.policy)
    this.transportsOf = async ({ names, tables, parameters }) => {
      const made = await transportsOf(args, names, surroundings, tables, parameters)
      return agents === undefined ? made : behindAgents(made, agents)
    }
  }

  /** @returns those of a new name */
  replace(transports: Readonly<Record<string, Transport>>): Record<string, Transport> {
    return this.#transports.replace(transports)
  }
}

/** Tables are asked each time, so that a reload changes what they answer. */
function optionsOf(
  settings: Settings,
  ways: MailWays,
  transports: Readonly<Record<string, Transport>>,
): OpenOptions {
  const { history, hostname, proofMs, lockWaitMs, server } = settings
  const { tables, parameters } = ways.said
  const usual = defaultTransport(settings)
  return {
    ...(history === undefined ? undefined : { history }),
    transports,
    route: routeOf(settings.relay, () => ({
      routes: ways.said.tables.routes,
      usual,
      deferred: ways.said.parameters.deferred,
      isForRelayDomain: (recipient) => isForRelayDomain(ways.said.tables.clients, recipient),
    })),
    retry: ways.retry,
    deliver: !settings.isFrozen,
    scheduler: parameters.scheduler,
    limits: tables.limits,
    shaping: tables.shaping,
    ...(parameters.activeCountMax === undefined ? undefined : { activeCountMax: parameters.activeCountMax }),
    proofMs,
    lockWaitMs,
    dataBytesMax: server.sizeBytesMax + receivedBytesMax + domainsBytesMax,
    reportingMta: hostname,
    ...reportAuthorOf(tables.clients, hostname),
    reportRecipients: (sender) => reportRecipientsOf(ways.said.tables.clients, sender),
    requeueRecipients: (recipients) => requeueRecipientsOf(ways.said.tables.clients, recipients),
  }
}

interface RelayParts {
  readonly args: Arguments
  readonly settings: Settings
  readonly ways: MailWays
  readonly log: Logger
  readonly notify: Notify
  /** Among the queues that are seen from here. */
  readonly place: QueuePlace
  readonly opened: OpenedHome
  /** Packages and files for `--metrics`, `--http` and `--console`. */
  readonly loaded: {
    readonly metrics: Awaited<ReturnType<typeof loadMetrics>> | undefined
    readonly http: Awaited<ReturnType<typeof loadHttp>> | undefined
    readonly pages: ReturnType<typeof consolePages>
  }
}

/** The queue is open; `run` answers at its ports. */
class Relay {
  readonly #parts: RelayParts
  readonly #queue: Queue
  readonly #log: Logger
  readonly #ways: MailWays
  readonly #webhookState: WebhookState = { trouble: undefined }
  readonly #metrics: RelayMetrics | undefined
  readonly #http: RelayHttp | undefined
  readonly #figuresOf: (queue: Queue) => Figures
  readonly #watched: RelayHttp | Figures
  readonly #retirement: Retirement
  readonly #stopping: Stopping
  readonly #certificates: CertificateWatch
  readonly #shares: Shares
  /** Of mail from operators. */
  readonly #operatorEntry: RelayDoor
  /** Of mail from clients. */
  readonly #entry: RelayDoor
  #adoption: Adoption | undefined
  #metricsListeners: readonly Listener[] = []
  #closeListings: (() => void) | undefined
  /** What a reload has changed beside the limits. */
  #reloaded: Pick<Change, 'shaping' | 'retry'> | undefined

  constructor(parts: RelayParts) {
    const { settings, ways, log, place, opened, loaded } = parts
    const { queue } = opened
    this.#parts = parts
    this.#queue = queue
    this.#log = log
    this.#ways = ways
    this.#metrics = loaded.metrics?.(
      queue,
      () => firstExpiryOf(ways.said.tables),
      () => reloads.last,
    )
    const { hostname, home, stopTimeoutMs } = settings
    const facts = (): RelayFacts => this.#facts()
    this.#http = loaded.http?.(queue, {
      directory: home.directory,
      place,
      hostname,
      tables: () => ways.said.tables.http,
      conversationsOf: (id) => ways.conversations.of(id),
      facts,
      door: () => withAliases(this.#entry, () => ways.said.tables.clients.aliases),
      log,
    })
    this.#figuresOf = (watched) =>
      new Figures(watched, { clock: systemClock, version: versionText(), hostname, facts })
    this.#watched = this.#http ?? this.#figuresOf(queue)
    this.#certificates = new CertificateWatch(log, systemClock, expirySoonMs)
    this.#tellBegin()
    this.#retirement = new Retirement(log)
    const door = this.#doorOf(queue, log)
    this.#operatorEntry = this.#operatorEntryOf(door)
    this.#entry = this.#entryOf(door)
    this.#shares = new Shares(place.status, log)
    this.#stopping = new Stopping(queue, log, stopTimeoutMs)
    this.#stopping.begin()
  }

  /** Settles when mail is taken. @param options with which the queue was opened */
  async run(options: OpenOptions, readAgain: () => Promise<ConfiguredArguments>): Promise<void> {
    const { args, settings, opened, notify } = this.#parts
    const { home, places } = settings
    const { webhook } = this.#ways.said.tables
    const log = this.#log
    if (opened.store !== undefined) await this.#metrics?.store(opened.store)
    await this.#serveOrders(options)
    const pickup = await this.#maildrop()
    this.#stopping.beforeThat(() => pickup?.stop())
    this.#stopping.beforeThat(() => this.#certificates.stop())
    if (webhook !== undefined) {
      const secret = (): readonly string[] => (this.#ways.said.tables.webhook ?? webhook).secret
      postToWebhook(this.#queue, webhook, secret, this.#webhookState, log)
    }
    const listener = await this.#answer().catch((error: unknown) => {
      void this.#closeOthers()
      this.#queue.crash()
      throw error
    })
    this.#retirement.closes(() => listener.closePorts())
    this.#stopping.beforeThat(() => {
      listener.closePorts()
      return this.#closeOthers()
    })
    this.#stopping.lastly(() => listener.leave())
    const isBalancer = networkList(settings.server.proxyProtocol ?? [], 'proxy-protocol')
    this.#stopping.beforeThat(await tellPlaces(home, places, listener.ports, isBalancer, log))
    notify('READY=1', `STATUS=listening on ${listener.ports.map(formatEndpoint).join(', ')}`)
    this.#retirement.closes(() => notify('STATUS=draining: it takes no mail any more'))
    this.#stopping.beforeThat(() => notify('STOPPING=1'))
    void pickup?.run()
    const takeUp = (next: Said): Promise<void> => this.#takeUp(next, listener)
    reloads.begin(async () => {
      notify('RELOADING=1', monotonicNow())
      try {
        return await reloaded({ args, ways: settings, readAgain, takeUp }, log)
      } finally {
        notify('READY=1')
      }
    })
  }

  #facts(): RelayFacts {
    return factsOf(this.#ways.said.tables, reloads.last, {
      isFrozen: this.#parts.settings.isFrozen,
      webhookTrouble: this.#webhookState.trouble,
      webhookWaitingCount: waitingCountOf(this.#queue),
    })
  }

  #tellBegin(): void {
    const { args, settings } = this.#parts
    const { home, direct, hostname, isFrozen, server } = settings
    const { tables, names, parameters } = this.#ways.said
    const log = this.#log
    log.info({ queue: home.shown, lock: this.#queue.lockKind }, 'the queue is open')
    logEvents(this.#queue, log)
    if (direct && !/[.:]/.test(hostname))
      log.warn({ hostname }, 'many servers refuse mail from a host without a domain: --hostname sets it')
    tellTables(args, tables, log, 'read')
    this.#certificates.read(validitiesOf(tables))
    if (tables.policy !== undefined) tellIdleClauses(args, tables.policy, names, log)
    if (isFrozen) log.warn('--freeze: nothing is delivered')
    void tellProofs(args, tables.tlsPolicy, log)
    const processLimits = new Map(names.map((name) => [name, processLimitOf(parameters.scheduler, name)]))
    void tellDescriptorLimit(descriptorsNeeded(server.sessionsMax, processLimits), log)
    this.#queue.on('crashed', ({ error }) => {
      if (error === undefined) return
      log.fatal({ err: error }, 'the queue has crashed')
      process.exit(1)
    })
  }

  /** What happens to all mail of a queue, by whatever door it comes. */
  #doorOf(queue: Queue, log: Logger): RelayDoor {
    const copied = withBcc(withLoggedClients(queue, log), () => this.#ways.said.parameters.alwaysBcc)
    return withHold(copied, (recipient) => this.#ways.said.tables.routes.holds(recipient))
  }

  /** Campaigns are not slowed down: their own bound is that of submissions under way. */
  #operatorEntryOf(door: RelayDoor): RelayDoor {
    return withAliases(door, () => this.#ways.said.tables.clients.aliases)
  }

  #entryOf(door: RelayDoor): RelayDoor {
    const queue = this.#queue
    const flow = new InFlowDelay({
      delayMs: () => this.#ways.said.parameters.inFlowDelayMs,
      stats: () => queue.stats({ destinations: 'none' }),
      clock: systemClock,
    })
    return this.#retirement.door(withInFlowDelay(withEtrn(door, queue, this.#log), flow))
  }

  /** Operators give orders to this queue, and to those that it adopts. */
  async #serveOrders(options: OpenOptions): Promise<void> {
    const { args, settings, opened, place } = this.#parts
    const log = this.#log
    const control: ControlOptions = {
      ...controlWitness(log),
      onError: (error) => log.warn({ err: error }, 'a control client could not be served'),
      reload: () => reloads.ask(),
    }
    const entryOf = (queue: Queue, own: Logger): RelayDoor => this.#operatorEntryOf(this.#doorOf(queue, own))
    this.#adoption = await adoptionOf(args, settings.home, {
      options,
      control,
      log,
      figuresOf: this.#figuresOf,
      metrics: this.#metrics,
      entryOf,
    })
    this.#stopping.beforeThat(() => this.#adoption?.stop())
    void this.#shares.run(() => {
      this.#queue.reconfigure(this.#limitsOf(place.name))
      this.#adoption?.reconfigure((name) => this.#changeOf(name))
    })
    const ownControl = { ...control, problems: () => this.#watched.problems() }
    await serveControlAt(
      settings.home,
      opened,
      this.#retirement.control(ownControl, this.#operatorEntry),
      log,
    )
  }

  /** @returns undefined where there is no maildrop, and the log says why */
  async #maildrop(): Promise<Pickup | undefined> {
    const { settings } = this.#parts
    const { home, hostname, server } = settings
    const log = this.#log
    if (home.directory === undefined) return undefined
    try {
      await makeMaildrop(home.directory)
    } catch (error) {
      log.warn({ err: error }, 'there is no maildrop')
      return undefined
    }
    return new Pickup({
      queue: home.directory,
      hostname,
      port: this.#entry,
      sizeBytesMax: server.sizeBytesMax,
      tables: () => this.#ways.said.tables.clients,
      onRefusal: (path, error) => log.warn({ path, err: error }, 'mail in maildrop is refused'),
      onReported: (id, refused) =>
        log.warn({ id, refused }, 'mail in maildrop is refused, and its sender gets a report'),
      onTrouble: (error) => log.warn({ err: error }, 'maildrop is looked at again'),
    })
  }

  /** The ports for mail come last. @throws the system's error when a port cannot be had */
  async #answer(): Promise<SmtpListener> {
    const { settings, loaded } = this.#parts
    const { metrics, mailq, http, console, server, hasThread, listsFor, home } = settings
    const log = this.#log
    if (this.#metrics !== undefined)
      this.#metricsListeners = await answerForMetrics(this.#queue, this.#metrics.registry, metrics, log)
    const listed = listsFor === 'all' ? home.directory : undefined
    this.#closeListings = await answerListings(this.#queue, listed, mailq, log)
    await this.#http?.answer(http, 'http')
    await this.#http?.answer(console, 'console', loaded.pages)
    const options = { ...server, ...this.#ways.said.tables.clients }
    return await (hasThread
      ? listenSmtpOnThread(this.#entry, options, clientWitness(log))
      : listenSmtp(this.#entry, { ...options, ...clientWitness(log) }))
  }

  /** All ports but those for mail. */
  #closeOthers(): Promise<void> {
    for (const listening of this.#metricsListeners) listening.close()
    this.#closeListings?.()
    return this.#watched.end()
  }

  #limitsOf(name: string): Pick<Change, 'scheduler' | 'limits'> {
    const { parameters, names, tables } = this.#ways.said
    const share = this.#shares.of(name)
    return {
      scheduler: sharedScheduler(parameters.scheduler, share, names),
      limits: sharedLimits(tables.limits, share),
    }
  }

  #changeOf(name: string): Change {
    return { ...this.#limitsOf(name), ...this.#reloaded }
  }

  /** What a reload has read. When it throws, all is as it was. */
  async #takeUp(next: Said, listener: SmtpListener): Promise<void> {
    const { args, place } = this.#parts
    const ways = this.#ways
    const log = this.#log
    const renewed = await ways.transportsOf(next)
    await listener.takeUp(next.tables.clients)
    // From here on nothing is refused: parameters were checked, and fixed ones are those of the
    // start.
    ways.said = next
    this.#http?.takeUp(next.tables.http)
    const added = withLoggedAttempts(ways.replace(renewed), log)
    const { policy, shaping, tlsPolicy } = next.tables
    this.#reloaded = { shaping, ...(policy === undefined ? undefined : { retry: policy }) }
    this.#queue.reconfigure({ ...this.#changeOf(place.name), transports: added })
    this.#adoption?.reconfigure((name) => this.#changeOf(name), added)
    if (policy !== undefined) {
      tellIdleClauses(args, policy, next.names, log)
      tellMissingLanes(policy, ways.retry, log)
    }
    this.#certificates.read(validitiesOf(next.tables))
    void tellProofs(args, tlsPolicy, log)
  }
}
