/** `waybill serve`: a queue with SMTP before it and SMTP or Maildirs behind it.
 * Invariant: it stops by crashing, and nothing is written for it; SIGTERM and SIGINT have it wait
 * for deliveries under way first (stopping.ts). When the queue itself crashes, the process ends
 * with an error, and its supervisor starts it again. */
import { hostname as machineName } from 'node:os'
import { pino } from 'pino'
import { systemClock } from '../../../src/base/clock.js'
import { waitMsMax } from '../../../src/base/options.js'
import { isReportingMta } from '../../../src/bounce/report.js'
import { Conversations } from '../../../src/delivery/conversation.js'
import { madeDirectory } from '../../../src/disk/names.js'
import {
  isWaybillError,
  type Change,
  type ControlOptions,
  type OpenOptions,
  type Queue,
} from '../../../src/index.js'
import type { Listener } from '../../../src/relay/listening.js'
import { domainsBytesMax } from '../../../src/relay/smtp-in/completed-header.js'
import { receivedBytesMax } from '../../../src/relay/smtp-in/received.js'
import type { Place } from '../../../src/relay/smtp-in/session-server.js'
import { listenSmtpOnThread } from '../../../src/relay/smtp-in/smtp-front.js'
import { listenSmtp, type SmtpListener } from '../../../src/relay/smtp-in/smtp-in.js'
import type { PickupTables } from '../../../src/relay/maildrop/pickup.js'
import { InFlowDelay } from '../../../src/relay/in-flow-delay.js'
import { isForRelayDomain } from '../../../src/relay/tables/recipient-standing.js'
import { tlsWays } from '../../../src/relay/smtp-out/smtp-out-options.js'
import { UsageError, type Arguments, type Command } from '../cli/command.js'
import { asError, isJournal, withPriority } from '../text/journal.js'
import { logText } from '../text/log-text.js'
import { escapedJson } from '../text/shown-text.js'
import { maildropOf } from './maildrop.js'
import { descriptorSink, LogLines } from '../log/log-lines.js'
import { answerListings, mailqOptions, mailqUsersOf } from '../cli/mailq-ports.js'
import { refuseForeignDirectory } from '../cli/queue-owner.js'
import { queueHelp } from '../cli/queue-path.js'
import { registerStore } from '../store/store-metrics.js'
import {
  adoptionOf,
  serveControlAt,
  openHome,
  queueHomeOf,
  storeOptions,
  type QueueHome,
  queuePlaceOf,
} from './queue-home.js'
import {
  checkWays,
  maildirDefault,
  mtaStsOf,
  reportAuthorOf,
  reportRecipientsOf,
  requeueRecipientsOf,
  retryOf,
  routeOf,
  sourcesOf,
} from './delivery.js'
import { withConfig, type ConfiguredArguments } from './config.js'
import { agentOptions, clauseAgentsOf } from '../policy/agent-options.js'
import { tellIdleClauses, tellMissingLanes } from '../policy/scheduler-conf.js'
import { tellProofs } from './dane.js'
import { withAliases, withBcc, withEtrn, withHold, withInFlowDelay } from '../door/door.js'
import { Retirement } from '../door/retirement.js'
import {
  clientWitness,
  controlWitness,
  logEvents,
  withLoggedAttempts,
  withLoggedClients,
} from '../log/log.js'
import { consolePages } from './console-pages.js'
import { factsOf, firstExpiryOf, httpPlacesOf, loadHttp } from './http.js'
import { historyOf } from '../cli/history-options.js'
import { answerForMetrics, loadMetrics } from './metrics.js'
import { atAddresses, checkDirectory, optionOf, tellPlaces, tryPorts, withAddresses } from './places.js'
import { reloads } from './reload.js'
import { Figures } from '../../../src/http/figures/figures.js'
import type { RelayFacts } from '../../../src/http/figures/problems.js'
import { versionText } from '../cli/version.js'
import { monotonicNow, systemdOf } from '../log/systemd.js'
import { sharedLimits, sharedScheduler, Shares } from '../parameters/shares.js'
import { Stopping, stopTimeoutMsOf } from './stopping.js'
import { hasThreadOf, placesOf, serverOf } from './server.js'
import { postToWebhook, type WebhookState } from './webhook.js'
import { reloaded, saidBy, tellTables, type Said } from './tables.js'
import { behindAgents, ReplaceableTransports, transportsOf, defaultTransport } from './transports.js'
import {
  formatEndpoint,
  parseDurationOption,
  parseEndpoint,
  parseWord,
  type Endpoint,
} from '../cli/values.js'

const roomNeeded =
  'waybill: a queue takes 64 MiB of its disk at rest, and needs 64 MiB free above that to take mail\n'

const formats = ['auto', 'json', 'text'] as const
const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

export const serve: Command = {
  synopsis: '[--queue DIR] [--listen HOST:PORT] [--relay HOST:PORT | --direct | --maildir DIR] [OPTION …]',
  options: {
    queue: { value: 'DIR', help: queueHelp },
    ...storeOptions,
    listen: {
      value: 'HOST:PORT',
      many: true,
      help: 'where to take mail (127.0.0.1:2525), may be repeated; a name is all of its addresses; port 0 takes any free one',
    },
    'listen-tls': {
      value: 'HOST:PORT',
      many: true,
      help: 'the same where the session begins with TLS, as on port 465 (nowhere)',
    },
    'share-port': {
      value: 'yes|no',
      help: 'let other relays of this user, with separate queues, listen on the same ports, if they say so, too: each connection goes to\none of them; needs Node 23.1 (no)',
    },
    relay: { value: 'HOST:PORT', help: 'deliver everything to this server' },
    direct: { help: 'deliver to the mail hosts of each domain, as the DNS has them (MX), on port 25' },
    'relay-tls': {
      value: 'HOW',
      words: tlsWays,
      help: 'none, opportunistic (usual), required (usual with --relay-auth) or implicit;\nother servers (--routes, reroute): as it is said here, but required for implicit; opportunistic (usual);\nopportunistic sends in plaintext, from the second attempt on,\nto a server whose TLS is broken; with --direct one of the first two',
    },
    'tls-policy': {
      value: 'FILE',
      help: 'TLS by destination, instead of --relay-tls: lines DESTINATION LEVEL [match=NAME:NAME…], such as\n`example.net secure` (--direct) and `[mail.example.net]:587 verify`; levels as in Postfix: none, may,\nencrypt, verify, secure; with --direct dane, dane-only',
    },
    'mta-sts': {
      value: 'yes|no',
      help: 'ask each domain, in the DNS and over HTTPS, which mail hosts with which TLS are its own (MTA-STS),\nand put mail off rather than deliver to others; --tls-policy goes before it; with --direct (no)',
    },
    dane: {
      value: 'yes|no',
      help: 'look for TLSA records of mail hosts (DANE), and put mail off rather than deliver to a host that is not the one\nthat they name; --tls-policy goes before it, and it before --mta-sts; needs a resolver on this machine that\nvalidates (DNSSEC), or --dane-server; with --direct (no)',
    },
    'dane-server': {
      value: 'ADDRESS[:PORT]',
      many: true,
      help: 'the resolver that is asked and believed for DANE, over a path where nobody else can write; may be repeated\n(those of /etc/resolv.conf that are on this machine)',
    },
    'source-address': {
      value: 'ADDRESS',
      many: true,
      help: 'the address of this machine from which servers are reached, one of IPv4, of IPv6, or each: a family without one is\nnot used, and 0.0.0.0 is IPv4 alone, from any; with --relay or --direct (both, from any)',
    },
    'relay-auth': { value: 'FILE', help: 'log in there with the line USER:PASSWORD in FILE' },
    routes: {
      value: 'FILE',
      help: 'mail that goes elsewhere, or by a transport with separate limits: lines PATTERN NAME:NEXTHOP,\nsuch as `.example.net :[mail.internal]:2525` and `example.org slow:`, by LMTP:\n`example.org lmtp:unix:/run/dovecot/lmtp`, or nowhere:\n`example.com error:5.1.2 TEXT` returns it, `retry:` puts it off, `discard:` drops it,\n`hold:` puts it on hold at the door',
    },
    dkim: {
      value: 'FILE',
      help: 'sign what goes to servers (DKIM), by the domain in From:, which is a line DOMAIN SELECTOR KEYFILE\nin FILE; `waybill dkim-key` makes a key',
    },
    maildir: {
      value: 'DIR',
      help: 'deliver to DIR/<address>, each a Maildir (./var/maildir); with --relay or --direct, mail for which\na line PATTERN maildir: of --routes says so',
    },
    trust: {
      value: 'NETWORK',
      many: true,
      help: 'clients that may relay: address or network, may be repeated\n(this machine; sendmail needs it among those that are named)',
    },
    'relay-domains': {
      value: 'FILE',
      help: 'mail for these is taken from everyone: lines `example.com`, `.example.com` (what is below it) and\n`user@example.com`; a domain with lines for users alone has no others, for nobody',
    },
    aliases: {
      value: 'FILE',
      help: 'aliases, for mail from any client: lines `info@example.com ada@example.com, bob@example.net` and\n`@old.example @new.example` (all others there); everyone may write to these',
    },
    senders: {
      value: 'FILE',
      help: 'what senders of clients that may relay are to the world, in envelope and header: lines\n`root@host.internal ops@example.org`, `@host.internal @example.org` and `.internal @example.org`',
    },
    'alias-limit': {
      value: 'N',
      help: "addresses that an alias may become, up to 100000: Postfix's virtual_alias_expansion_limit (1000)",
    },
    'recipient-delimiter': {
      value: 'CHARS',
      help: 'what may stand before an extension, such as `+`: ada+lists@example.com is as ada@example.com to tables, and to\n--maildir, unless it has its own line or Maildir (nothing)',
    },
    'tls-cert': {
      value: 'FILE',
      help: 'offer TLS with this certificate, PEM, with those between it and a root',
    },
    'tls-key': { value: 'FILE', help: 'its key, PEM' },
    auth: {
      value: 'FILE',
      help: 'clients that log in as one of the users in FILE may relay too, from wherever they come; over TLS\nonly. A user is a line NAME:HASH, which `waybill password NAME` prints',
    },
    hostname: { value: 'NAME', help: "its own name (the machine's name)" },
    retry: {
      value: 'TIMES',
      help: "intervals between attempts, 1s,2s,5s; the last is repeated\n(Postfix's: 5m to 4000s)",
    },
    o: {
      short: 'o',
      value: 'NAME=VALUE',
      many: true,
      help: "a parameter of Postfix's queue, scheduler and transports, may be repeated, such as\nmaximal_backoff_time=1h, delay_warning_time=4h, qmgr_message_active_limit=50000,\ndefault_destination_concurrency_limit=5, smtp_connect_timeout=5s, defer_transports=relay;\ntransports are smtp, relay, lmtp, maildir and those of --routes",
    },
    'scheduler-conf': {
      value: 'FILE',
      help: "ZMailer's scheduler configuration: clauses CHANNEL/HOST, for transports and nexthops, say when mail is tried\nagain, when it is returned, and how much is delivered at once; `waybill policy check` checks it",
    },
    limits: {
      value: 'FILE',
      help: 'what may be sent in a time, by lines `nexthop *.example.net 10/second`, `tag newsletter 600/minute`,\n`sender *@example.org 20000/day` and `source 192.0.2.1 50000/day` (--source-address); more waits',
    },
    shaping: {
      value: 'FILE',
      help: 'replies that slow a site, by lines `421 4.7.28 to 10/minute for 15m`; /dev/null: no reply does\n(a list of common ones, tools/deploy/shaping)',
    },
    ...agentOptions,
    freeze: { help: 'take mail and deliver nothing: it waits for the next start' },
    lifetime: { value: 'TIME', help: 'mail older than this is returned (5d)' },
    'lock-wait': {
      value: 'TIME',
      help: 'how long a queue that another process has open is waited for (0s)',
    },
    proof: {
      value: 'TIME',
      help: 'no delivery begins while the disk has not answered a synced write for so long (2s)',
    },
    'stop-timeout': {
      value: 'TIME',
      help: 'how long SIGTERM and SIGINT wait for deliveries under way, at most; a second one ends it at once (10s)',
    },
    'size-limit': { value: 'BYTES', help: 'largest message, like 100K or 20M (50M)' },
    sessions: {
      value: 'N',
      help: 'clients that are trusted or logged in, at once, and as many others (500)',
    },
    'sessions-per-client': { value: 'N', help: 'of one address that is not trusted, of IPv6 one /64 (50)' },
    'idle-timeout': {
      value: 'TIME',
      help: 'a client that is silent for so long is let go (5m); when it is not trusted, or half of the\nsessions are taken, also one that needs so long for a command, or for data at under 500 B/s',
    },
    'greet-delay': {
      value: 'TIME',
      help: 'how long clients that are not trusted wait for the greeting (100ms)',
    },
    'smtp-thread': {
      value: 'yes|no',
      help: 'take mail on a separate thread (yes, where there is more than one processor)',
    },
    dsn: { value: 'yes|no', help: 'let clients request reports (DSN), of success too (yes)' },
    received: { value: 'yes|no', help: 'write a Received field above each message (yes)' },
    metrics: {
      value: 'HOST:PORT',
      help: 'answer GET /metrics (for Prometheus) and /healthz there, without a password;\n127.0.0.1 when there is only a port; a name is all of its addresses; port 0 takes any free one (nowhere)',
    },
    ...mailqOptions,
    http: {
      value: 'HOST:PORT',
      help: 'answer the HTTP API there: messages in, queue, verbs, outcomes; 127.0.0.1 when there is only a port; a name is\nall of its addresses; port 0 takes any free one; on other addresses over TLS, with --http-tokens (nowhere)',
    },
    'http-tokens': {
      value: 'FILE',
      help: 'who may do what there: lines that `waybill token` makes (the token in the file `http-token` of the queue)',
    },
    'http-tls-cert': { value: 'FILE', help: 'the certificate there, PEM (that of --tls-cert)' },
    'http-tls-key': { value: 'FILE', help: 'its key, PEM' },
    console: {
      value: 'HOST:PORT',
      help: 'show the queue as a web page there, and act on it, with the same addresses, tokens and TLS as --http (nowhere)',
    },
    history: {
      value: 'TIME',
      help: 'keep what became of messages for so long, for `waybill history`, the HTTP API and the console (not at all)',
    },
    'history-bytes': {
      value: 'BYTES',
      help: 'at most so many bytes of it; the oldest goes first (1G)',
    },
    webhook: {
      value: 'URL',
      help: 'post outcomes of messages there, in order and until the answer is 2xx (nowhere)',
    },
    'webhook-secret': {
      value: 'FILE',
      help: 'a line `whsec_` and base64 of 24 to 64 bytes, by which requests are signed (Standard Webhooks); up to four,\nwhile it is changed',
    },
    'webhook-events': {
      value: 'LIST',
      help: 'of accepted, delivered, deferred, failed, expired, deleted, finished, reported, with commas (all)',
    },
    'webhook-tag': {
      value: 'TAG',
      many: true,
      help: 'only of messages that were submitted with this tag; may be repeated (all)',
    },
    config: {
      value: 'FILE',
      help: 'options from the lines of FILE, without dashes, such as `listen 0.0.0.0:25`, `direct`, and\n`default_destination_rate_delay = 1s` (-o); paths there are from where it is; the command line goes before it',
    },
    'log-format': {
      value: 'FORMAT',
      words: formats,
      help: 'json, a JSON object a line; text, for people; auto, text on a terminal (auto)',
    },
    'log-level': {
      value: 'LEVEL',
      words: levels,
      help: `${levels.join(', ')} (info); debug tells when each attempt begins, and when it is repeated`,
    },
  },
  notes:
    'It prints `listening on HOST:PORT` for each port when it answers, and logs to standard error: as text on a\n' +
    'terminal, else as JSON.\n' +
    'With --metrics it prints `metrics on http://HOST:PORT/metrics` for each of its addresses before that, with --mailq\n' +
    '`mailq on HOST:PORT`.\n' +
    'The file `control` in DIR is the socket by which hold, flush, top and their like reach it; only its owner may.\n' +
    'Without --relay and --direct no mail leaves this machine. With them, or with --relay-domains, only trusted networks and\n' +
    'who has logged in may send: another client gets `554 5.7.1` for each recipient, whatever --listen says, that no line of\n' +
    '--relay-domains or --aliases names.\n' +
    'SIGHUP, or `waybill reload`, has it read the files of --tls-cert, --tls-key, --auth, --relay-domains, --aliases, --senders,\n' +
    '--routes, --limits, --shaping, --dkim, --tls-policy, --relay-auth, --webhook-secret, --http-tokens, --http-tls-cert,\n' +
    '--http-tls-key and --scheduler-conf again, and of --config the parameters (-o):\n' +
    'all or, where one is wrong, none. Other options, and the parameters that it names then, take a restart.',
  run,
}

interface Settings {
  readonly home: QueueHome
  readonly places: readonly Place[]
  readonly hostname: string
  readonly relay: Endpoint | undefined
  readonly direct: boolean
  readonly metrics: readonly Endpoint[]
  readonly mailq: readonly Endpoint[]
  readonly http: readonly Endpoint[]
  readonly console: readonly Endpoint[]
}

async function run(words: Arguments): Promise<number | undefined> {
  const readAgain = (): Promise<ConfiguredArguments> => withConfig(serve, words)
  const args = await readAgain()
  try {
    return await runWith(args, readAgain)
  } catch (error) {
    throw args.placed(error)
  }
}

/** @throws UsageError */
function proofMsOf(args: Arguments): number {
  const proofMs = parseDurationOption('proof', args.one('proof') ?? '2s')
  if (proofMs < 1 || proofMs > waitMsMax) throw new UsageError('--proof is from 1ms to 1d')
  return proofMs
}

/** @throws UsageError */
function lockWaitMsOf(args: Arguments): number {
  const lockWaitMs = parseDurationOption('lock-wait', args.one('lock-wait') ?? '0s')
  if (lockWaitMs > waitMsMax) throw new UsageError('--lock-wait is at most 1d')
  return lockWaitMs
}

/** Every value is read, and every port tried, before anything is made: what is wrong
 * changes nothing. */
async function runWith(
  args: Arguments,
  readAgain: () => Promise<ConfiguredArguments>,
): Promise<number | undefined> {
  checkWays(args)
  const relayText = args.one('relay')
  const metricsText = args.one('metrics')
  const mailqText = args.one('mailq')
  const settings: Settings = {
    home: await queueHomeOf(args),
    places: await withAddresses(placesOf(args)),
    hostname: args.one('hostname') ?? machineName(),
    relay:
      relayText === undefined
        ? undefined
        : parseEndpoint('relay', relayText, '127.0.0.1', args.one('relay-tls') === 'implicit' ? 465 : 25),
    direct: args.isSet('direct'),
    metrics:
      metricsText === undefined
        ? []
        : await atAddresses('metrics', parseEndpoint('metrics', metricsText, '127.0.0.1')),
    mailq:
      mailqText === undefined
        ? []
        : await atAddresses('mailq', parseEndpoint('mailq', mailqText, '127.0.0.1')),
    http: await httpPlacesOf(args),
    console: await httpPlacesOf(args, 'console'),
  }
  if (settings.relay?.port === 0) throw new UsageError('--relay needs a port other than 0')
  if (!isReportingMta(settings.hostname))
    throw new UsageError(`--hostname takes a host name or an address literal, not '${settings.hostname}'`)
  const { shown, directory } = settings.home
  if (directory !== undefined) await checkDirectory('queue', directory)
  if (args.isSet('maildir') || (settings.relay === undefined && !settings.direct))
    await checkDirectory('maildir', args.one('maildir') ?? maildirDefault)
  let said = await saidBy(args, settings)
  const isWatched = settings.http.length + settings.console.length > 0
  const conversations = new Conversations()
  const surroundings = {
    ...settings,
    ownMail: () => said.tables.clients,
    ...mtaStsOf(args),
    onConversation: isWatched ? conversations.add.bind(conversations) : undefined,
  }
  const agents = clauseAgentsOf(args, () => said.tables.policy)
  const transportsSaid = async ({ names, tables, parameters }: Said): ReturnType<typeof transportsOf> => {
    const made = await transportsOf(args, names, surroundings, tables, parameters)
    return agents === undefined ? made : behindAgents(made, agents)
  }
  const replaceable = new ReplaceableTransports()
  const transports = replaceable.replace(await transportsSaid(said))
  const usual = defaultTransport(settings)
  const { parameters } = said
  const retry = said.tables.policy ?? retryOf(args, parameters)
  const server = serverOf(args, {
    ...settings,
    purpose: settings.relay === undefined && !settings.direct ? 'local' : 'relay',
  })
  const hasThread = hasThreadOf(args)
  const proofMs = proofMsOf(args)
  const lockWaitMs = lockWaitMsOf(args)
  const stopTimeoutMs = stopTimeoutMsOf(args)
  const webhookState: WebhookState = { trouble: undefined }
  const listsFor = mailqUsersOf(args)
  const history = historyOf(args, directory === undefined)
  const level = parseWord('log-level', args.one('log-level') ?? 'info', levels)

  const format = parseWord('log-format', args.one('log-format') ?? 'auto', formats)
  const isText = format === 'text' || (format === 'auto' && process.stderr.isTTY)

  const watch = settings.metrics.length === 0 ? undefined : await loadMetrics()
  const withHttp = isWatched ? await loadHttp() : undefined
  const pages = settings.console.length === 0 ? [] : consolePages()
  // A trial on a shared port would be given connections.
  const own = settings.places.filter(({ sharesPort }) => sharesPort !== true)
  await tryPorts([
    ...own.map((endpoint) => ({ option: optionOf(endpoint), endpoint })),
    ...settings.metrics.map((endpoint) => ({ option: 'metrics', endpoint })),
    ...settings.mailq.map((endpoint) => ({ option: 'mailq', endpoint })),
    ...settings.http.map((endpoint) => ({ option: 'http', endpoint })),
    ...settings.console.map((endpoint) => ({ option: 'console', endpoint })),
    ...(sourcesOf(args).sourceAddresses ?? []).map((host) => ({
      option: 'source-address',
      endpoint: { host, port: 0 },
    })),
  ])

  if (directory !== undefined) {
    await refuseForeignDirectory(directory)
    await madeDirectory(directory)
  }
  // SIGKILL takes the last lines with it.
  const lineShown = isText ? logText : escapedJson
  const lines = new LogLines(descriptorSink(2), isJournal() ? withPriority(lineShown) : lineShown)
  process.on('exit', () => lines.flushNow())
  // What it says there stands in the log as well.
  process.stdout.on('error', (error) => log.warn({ err: error }, 'standard output cannot be written'))
  const log = pino({ level, base: null }, lines)
  const notify = systemdOf(log)
  const options: OpenOptions = {
    ...(history === undefined ? undefined : { history }),
    transports: withLoggedAttempts(transports, log),
    route: routeOf(settings.relay, () => ({
      routes: said.tables.routes,
      usual,
      deferred: said.parameters.deferred,
      isForRelayDomain: (recipient) => isForRelayDomain(said.tables.clients, recipient),
    })),
    retry,
    deliver: !args.isSet('freeze'),
    scheduler: parameters.scheduler,
    limits: said.tables.limits,
    shaping: said.tables.shaping,
    ...(parameters.activeCountMax === undefined ? undefined : { activeCountMax: parameters.activeCountMax }),
    proofMs,
    lockWaitMs,
    dataBytesMax: server.sizeBytesMax + receivedBytesMax + domainsBytesMax,
    reportingMta: settings.hostname,
    ...reportAuthorOf(said.tables.clients, settings.hostname),
    reportRecipients: (sender) => reportRecipientsOf(said.tables.clients, sender),
    requeueRecipients: (recipients) => requeueRecipientsOf(said.tables.clients, recipients),
  }
  const queuePlace = await queuePlaceOf(settings.home)
  const opened = await openHome(settings.home, options, log).catch((error: unknown) => {
    if (isWaybillError(error, 'DISK_FULL')) process.stderr.write(asError(roomNeeded))
    throw error
  })
  const { queue, store } = opened
  // In this turn: what happens before it is not counted.
  const registry = watch?.(
    queue,
    () => firstExpiryOf(said.tables),
    () => reloads.last,
  )
  const facts = (): RelayFacts =>
    factsOf(said.tables, reloads.last, {
      isFrozen: args.isSet('freeze'),
      webhookTrouble: webhookState.trouble,
    })
  const http = withHttp?.(queue, {
    directory,
    place: queuePlace,
    hostname: settings.hostname,
    tables: () => said.tables.http,
    conversationsOf: (id) => conversations.of(id),
    facts,
    door: () => withAliases(entry, () => said.tables.clients.aliases),
    log,
  })
  const version = versionText()
  const figuresOf = (watched: Queue): Figures =>
    new Figures(watched, { clock: systemClock, version, hostname: settings.hostname, facts })
  const watched = http ?? figuresOf(queue)
  log.info({ queue: shown, lock: queue.lockKind }, 'the queue is open')
  logEvents(queue, log)
  if (settings.direct && !/[.:]/.test(settings.hostname))
    log.warn(
      { hostname: settings.hostname },
      'many servers refuse mail from a host without a domain: --hostname sets it',
    )
  tellTables(args, said.tables, log, 'read')
  if (said.tables.policy !== undefined) tellIdleClauses(said.tables.policy, said.names, log)
  if (args.isSet('freeze')) log.warn('--freeze: nothing is delivered')
  void tellProofs(args, said.tables.tlsPolicy, log)
  queue.on('crashed', ({ error }) => {
    if (error === undefined) return
    log.fatal({ err: error }, 'the queue has crashed')
    process.exit(1)
  })
  const stopping = new Stopping(queue, log, stopTimeoutMs)
  stopping.begin()
  if (registry !== undefined && store !== undefined) await registerStore(registry, store)
  const control: ControlOptions = {
    ...controlWitness(log),
    onError: (error) => log.warn({ err: error }, 'a control client could not be served'),
    reload: () => reloads.ask(),
  }
  const adoption = await adoptionOf(args, settings.home, options, control, figuresOf, log)
  const retirement = new Retirement(log)
  stopping.beforeThat(() => adoption?.stop())
  const shares = new Shares(queuePlace.status, log)
  const limitsOf = (name: string): Pick<Change, 'scheduler' | 'limits'> => ({
    scheduler: sharedScheduler(said.parameters.scheduler, shares.of(name), said.names),
    limits: sharedLimits(said.tables.limits, shares.of(name)),
  })
  let changeOf: (name: string) => Change = limitsOf
  void shares.run(() => {
    queue.reconfigure(limitsOf(queuePlace.name))
    adoption?.reconfigure(changeOf)
  })
  const logged = withLoggedClients(queue, log)
  const ownControl = { ...control, problems: () => watched.problems() }
  await serveControlAt(settings.home, opened, retirement.control(ownControl, logged), log)
  const copied = withBcc(logged, () => said.parameters.alwaysBcc)
  const held = withHold(copied, (recipient) => said.tables.routes.holds(recipient))
  const flow = new InFlowDelay({
    delayMs: () => said.parameters.inFlowDelayMs,
    stats: () => queue.stats(),
    clock: systemClock,
  })
  const entry = retirement.door(withInFlowDelay(withEtrn(held, queue, log), flow))
  const { sizeBytesMax } = server
  const tables = (): PickupTables => said.tables.clients
  const pickup =
    directory === undefined
      ? undefined
      : await maildropOf({ ...settings, queue: directory, port: entry, sizeBytesMax, tables }, log)
  stopping.beforeThat(() => pickup?.stop())
  const { webhook } = said.tables
  if (webhook !== undefined)
    postToWebhook(queue, webhook, () => (said.tables.webhook ?? webhook).secret, webhookState, log)
  let metrics: readonly Listener[] = []
  let closeListings: (() => void) | undefined
  const answer = async (): Promise<SmtpListener> => {
    if (registry !== undefined) metrics = await answerForMetrics(queue, registry, settings.metrics, log)
    const listed = listsFor === 'all' ? directory : undefined
    closeListings = await answerListings(queue, listed, settings.mailq, log)
    await http?.answer(settings.http, 'http')
    await http?.answer(settings.console, 'console', pages)
    const options = { ...server, ...said.tables.clients }
    return await (hasThread
      ? listenSmtpOnThread(entry, options, clientWitness(log))
      : listenSmtp(entry, { ...options, ...clientWitness(log) }))
  }
  const listener = await answer().catch((error: unknown) => {
    for (const listening of metrics) listening.close()
    closeListings?.()
    void watched.end()
    queue.crash()
    throw error
  })
  retirement.closes(() => listener.closePorts())
  stopping.beforeThat(() => {
    listener.closePorts()
    for (const listening of metrics) listening.close()
    closeListings?.()
    return watched.end()
  })
  stopping.beforeThat(await tellPlaces(settings.home, settings.places, listener.ports, log))
  stopping.beforeThat(() => notify('STOPPING=1'))
  notify('READY=1', `STATUS=listening on ${listener.ports.map(formatEndpoint).join(', ')}`)
  void pickup?.run()
  const takeUp = async (next: Said): Promise<void> => {
    const renewed = await transportsSaid(next)
    await listener.takeUp(next.tables.clients)
    // From here on nothing is refused: parameters were checked, and fixed ones are those of the
    // start.
    said = next
    http?.takeUp(next.tables.http)
    const added = withLoggedAttempts(replaceable.replace(renewed), log)
    const { policy, shaping } = next.tables
    changeOf = (name) => ({
      ...limitsOf(name),
      shaping,
      ...(policy === undefined ? undefined : { retry: policy }),
    })
    queue.reconfigure({ ...changeOf(queuePlace.name), transports: added })
    adoption?.reconfigure(changeOf, added)
    if (policy !== undefined) tellMissingLanes(policy, retry, log)
    void tellProofs(args, next.tables.tlsPolicy, log)
  }
  reloads.begin(async () => {
    notify('RELOADING=1', monotonicNow())
    try {
      return await reloaded({ args, ways: settings, readAgain, takeUp }, log)
    } finally {
      notify('READY=1')
    }
  })
  return undefined
}
