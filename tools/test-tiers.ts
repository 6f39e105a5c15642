/** The deep tests, by pattern: `npm test` runs all others in four minutes on two quiet cores,
 * `npm run test:deep` these.
 * Invariant: a quick test compares no elapsed time with a constant, needs no package of the system
 * and no root. A file is in one tier, so that nothing is lost between them; test/tree/style.test.ts
 * looks at both. */

/** By what makes them deep. */
const deepTests: Readonly<Record<string, readonly string[]>> = {
  /** Crashes by the thousand, removed guarantees, chains of lives. */
  crash: [
    'test/crash/**',
    'test/scheduler/sabotage.test.ts',
    'test/backup/{thousand,under-load}.test.ts',
    'test/**/{crashes,queueonly-crashes}.test.ts',
  ],
  /** Real kills, power cuts, failing calls and full disks. They need root and packages. */
  'real crashes': [
    'test/crash-real/**',
    'test/end-to-end/kill.test.ts',
    'test/end-to-end/maildir-kill.test.ts',
    'test/end-to-end/agent-kill.test.ts',
  ],
  /** PostgreSQL servers on loopback. */
  'real stores': [
    'test/store/{adopting-node,pg-calls,pg-disk,pg-queue,moved-queue,crash-store,drained-node,server-status}.test.ts',
  ],
  /** Damage of every kind, and queues that are busy while they are read. */
  damage: [
    'test/inspect/damage.test.ts',
    'test/inspect/damage/**',
    'test/inspect/busy-queue.test.ts',
    'test/inspect/rescue-outcomes.test.ts',
    'test/admin/verb-trouble.test.ts',
  ],
  /** The commands as processes, each started anew. */
  processes: [
    'test/tools/serve/{aliases,auth,config,dane,direct,dkim,domains,http,limits,metrics,output,recipient-delimiter,reload,reload-mail,routes,scheduler-conf,senders,start,stopping,submitted,tls,tls-policy,webhook}.test.ts',
    'test/tools/{end-with-reader,interrupted,said-arguments,waybill}.test.ts',
    'test/tools/log/log.test.ts',
    'test/tools/examples/{campaign,fastify-app,own-transport,tenants}.test.ts',
    'test/tools/sendmail/sendmail.test.ts',
    'test/tools/operate/operate.test.ts',
    'test/engine/deliver/fatal-message.test.ts',
    'test/engine/life/process-end.test.ts',
    'test/engine/recover/small-heap.test.ts',
    'test/exports.test.ts',
  ],
  /** Chromium, and relays before it. */
  browser: ['test/console/{operate,page,relay,store}.test.ts'],
  /** Two weeks in a minute of a processor. */
  'simulated time': ['test/sim/fortnight.test.ts'],
  /** Agents as child processes. */
  agents: ['test/relay/agents/{pipe-transport,clause-agents}.test.ts'],
  /** Handshakes by the dozen. */
  handshakes: ['test/relay/smtp-out/mx-out-{dane,tls-policy}.test.ts'],
  /** What is on the heap of the process. */
  memory: ['test/engine/short-lived.test.ts'],
  /** Tests of real time: elapsed time is compared with a bound far from the expected time. */
  clock: [
    'test/policy/{glob,zmailer-cost}.test.ts',
    'test/admin/verbs/flush.test.ts',
    'test/engine/checkpoint/delayed-unlinks.test.ts',
    'test/relay/dkim/author-domain.test.ts',
    'test/relay/metrics-listener.test.ts',
    'test/relay/dns/{dns-questions,mail-hosts}.test.ts',
    'test/relay/smtp-in/smtp-in-defaults.test.ts',
    'test/relay/tls/{mta-sts,mta-sts-policy}.test.ts',
    'test/tools/sendmail/stdio-session.test.ts',
    'test/bench/{contenders,process-tree}.test.ts',
  ],
}

export const deepPatterns: readonly string[] = Object.values(deepTests).flat()

/** The deep tests that do nothing but compute, and meet another order of events on each Node. CI
 * runs them on the newest, which needs two thirds of the time of Node 20. */
export const huntTests: readonly string[] = ['test/crash/**', 'test/backup/{thousand,under-load}.test.ts']

/** Tests among the hunts that run again what a seed found: a seed is another run on another Node,
 * where promises settle in another order. */
export const seededTests: readonly string[] = ['test/crash/{regressions,sabotage}.test.ts']

/** The deep tests that run longest, the longest first: one that began last would run alone. Some
 * keep a processor busy and others wait for processes, so both kinds run beside each other. */
export const longestTests: readonly string[] = [
  'test/store/crash-store.test.ts',
  'test/tools/sendmail/sendmail.test.ts',
  'test/inspect/damage.test.ts',
  'test/console/page.test.ts',
  'test/crash/copied.test.ts',
  'test/tools/operate/operate.test.ts',
  'test/sim/fortnight.test.ts',
  'test/tools/waybill.test.ts',
  'test/console/operate.test.ts',
  'test/crash/failing-calls.test.ts',
  'test/crash/machine.test.ts',
  'test/crash/disturbances.test.ts',
  'test/crash/sabotage.test.ts',
  'test/crash-real/real.test.ts',
  'test/scheduler/sabotage.test.ts',
  'test/crash/second-crash.test.ts',
  'test/crash/random.test.ts',
  'test/console/relay.test.ts',
  'test/end-to-end/kill.test.ts',
  'test/engine/keys/crashes.test.ts',
  'test/engine/short-lived.test.ts',
  'test/exports.test.ts',
  'test/backup/thousand.test.ts',
]

/** Quick tests that replace modules (`vi.mock`): where a file before them has loaded those, they
 * would be used as they are. */
export const mockingTests: readonly string[] = [
  'test/engine/rotten-mail.test.ts',
  'test/relay/maildir/maildir-syncs.test.ts',
]
