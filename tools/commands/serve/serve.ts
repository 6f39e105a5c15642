/** `waybill serve`: the options of the relay. settings.ts reads them, relay.ts runs it.
 * Invariant: it stops by crashing, and nothing is written for it; SIGTERM and SIGINT have it wait
 * for deliveries under way first (stopping.ts). When the queue itself crashes, the process ends
 * with an error, and its supervisor starts it again. */
import { tlsWays } from '../../../src/relay/smtp-out/smtp-out-options.js'
import type { Arguments, Command } from '../cli/command.js'
import { mailqOptions } from './mailq-ports.js'
import { queueHelp } from '../cli/queue-path.js'
import { agentOptions } from '../policy/agent-options.js'
import { withConfig, type ConfiguredArguments } from './config.js'
import { storeOptions } from './queue-home.js'
import { startRelay } from './relay.js'
import { formats, levels } from './settings.js'

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
    'proxy-protocol': {
      value: 'NETWORK',
      many: true,
      help: "addresses of balancers: connections from them begin with HAProxy's line PROXY (version 1), which names\nthe client (none)",
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
      help: 'a client that is silent for so long is disconnected (5m); when it is not trusted, or half of the\nsessions are taken, also one that needs so long for a command, or for data at under 500 B/s',
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

async function run(words: Arguments): Promise<number | undefined> {
  const readAgain = (): Promise<ConfiguredArguments> => withConfig(serve, words)
  const args = await readAgain()
  try {
    await startRelay(args, readAgain)
    return undefined
  } catch (error) {
    throw args.placed(error)
  }
}
