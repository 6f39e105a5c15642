/** All benches by name. Each module is loaded when it is run: a bench must not pay for the
 * packages of another. */
import type { Bench } from './bench.js'

export const benches: Readonly<Record<string, Bench>> = {
  commit: {
    about: 'durable submissions, and whole lives of messages, at 1 to 1000 producers beside bare loops',
    run: async (args) => (await import('./commit.js')).run(args),
  },
  lives: {
    about: 'whole lives of messages by size, recipients, speed of the disk and backlog, beside other stores',
    run: async (args) => (await import('./lives.js')).run(args),
  },
  'workload-r': {
    about: 'whole lives with a transport that reads the data, 500 domains; a steady and a young queue',
    run: async (args) => (await import('./workload-r/workload-r.js')).run(args),
  },
  profile: {
    about: 'where the processor time of a message goes, by the part of the source',
    run: async (args) => (await import('./profile/profile.js')).run(args),
  },
  applications: {
    about: 'consumers of outcomes, scheduled mail, submitMany, and what the options of a submission cost',
    run: async (args) => (await import('./applications/applications.js')).run(args),
  },
  turns: {
    about: 'what a turn of group commit is made of: the write, and what the event loop does between two',
    run: async (args) => (await import('./turns.js')).run(args),
  },
  relay: {
    about: 'mail through the relay, beside Postfix and Haraka: smtp-source → relay → smtp-sink',
    run: async (args) => (await import('./relay.js')).run(args),
  },
  sessions: {
    about: 'memory of open sessions, and how long mail takes through a relay at a tenth of its load',
    run: async (args) => (await import('./sessions/sessions.js')).run(args),
  },
  kinds: {
    about: 'mail with many recipients, signed, logged in, to 1000 domains, beside Postfix',
    run: async (args) => (await import('./kinds/kinds.js')).run(args),
  },
  pages: {
    about: 'what ten open pages of the console cost a relay at full load',
    run: async (args) => (await import('./pages/pages.js')).run(args),
  },
  smtp: {
    about: 'what a message costs on its way in: a bare socket, smtp-server, the relay before its queue',
    run: async (args) => (await import('./smtp.js')).run(args),
  },
  extremes: {
    about:
      'messages of many recipients, and lines that begin with a dot: what each costs, and how long the loop stands',
    run: async (args) => (await import('./extremes/extremes.js')).run(args),
  },
  checksum: {
    about: 'CRC-32 in JavaScript and in zlib by length: where src/base/checksum.ts switches',
    run: async (args) => (await import('./checksum.js')).run(args),
  },
  codec: {
    about: 'encoding and decoding of each record, sealing and verifying of frames',
    run: async (args) => (await import('./codec.js')).run(args),
  },
  deferred: {
    about: 'opening a queue with 100 and with 100 000 deferred messages: time and memory',
    run: async (args) => (await import('./deferred.js')).run(args),
  },
  'whole-queue': {
    about: 'commands that read a whole queue of deferred mail, and a verb on a part of it',
    options: '--to N: 10^N messages (6)',
    run: async (args) => (await import('./whole-queue/whole-queue.js')).run(args),
  },
  scale: {
    about: 'queues of up to a million deferred messages: opening, memory, disk, listing, rate, recovery',
    options: '--to N: up to 10^N messages (6; 7 takes 13 GB)',
    run: async (args) => (await import('./scale.js')).run(args),
  },
  inspect: {
    about: 'reading a million deferred messages: mailq, qshape, stat, log verify; and beside a queue at work',
    run: async (args) => (await import('./inspect.js')).run(args),
  },
  sustained: {
    about: 'ten minutes at full rate: rate, p99, memory and disk every ten seconds',
    options: '--minutes N',
    run: async (args) => (await import('./sustained.js')).run(args),
  },
  store: {
    about: 'a queue on three PostgreSQL servers beside one in a directory, by size and producers',
    run: async (args) => (await import('./store/store.js')).run(args),
  },
  layouts: {
    about: 'a lane per interval beside one log for everything, at 10, 30 and 90 per cent deferral',
    run: async (args) => (await import('./layouts.js')).run(args),
  },
  questions: {
    about: 'what the post on log-structured queues leaves open: how often, where, and shared syncs',
    run: async (args) => (await import('./questions/questions.js')).run(args),
  },
  scheduler: {
    about: 'selections per second with 20 000 messages active',
    run: async (args) => (await import('./scheduler.js')).run(args),
  },
  tables: {
    about: "the three tables of the Postfix document on limited servers, beside our scheduler's",
    run: async (args) => (await import('./tables.js')).run(args),
  },
  report: {
    about: 'draws the plots of the README from the results that are kept; measures nothing',
    run: async (args) => (await import('./report.js')).run(args),
  },
}
