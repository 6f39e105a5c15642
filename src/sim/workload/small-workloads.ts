/** Small workloads that together contain everything that the engine does to mail. A new verb
 * is added here. */
import { seededPrng } from '../../base/prng.js'
import { frameRecipientsMax } from '../../record/envelope.js'
import { crowdingHold } from './disturbance.js'
import { crowdSetup, earlyDeath } from './variety.js'
import { smallSetup, type VerbStep, type Workload } from './workload.js'

/** More recipients than a frame holds: one of each fate, and of the second as many as it takes. */
function crowd(fates: readonly string[]): string[] {
  const last = frameRecipientsMax + 2
  return Array.from({ length: last + 1 }, (_, r) => {
    const fate = r === 0 ? fates[0] : (fates[r - last + fates.length - 1] ?? fates[1])
    return `${fate}-${r}@a.test`
  })
}

/** Deferral, retries from both lanes, failure and its report, expiry, a spool file, an answer that
 * fails to come. */
export const everything: Workload = {
  name: 'everything',
  setup: smallSetup,
  intervalsMs: [1000, 2000, 60_000],
  lifetimeMs: 50_000,
  answerMs: 0,
  steps: [
    { atMs: 0, sender: 'm0@sender.test', recipients: ['ok-0@a.test', 'defer1-0@b.test'], dataBytes: 200 },
    {
      atMs: 0,
      sender: 'm1@sender.test',
      recipients: ['fail0-1@a.test', 'defer2-1@b.test', 'ok-1@b.test'],
      dataBytes: 900,
    },
    { atMs: 10, sender: 'm2@sender.test', recipients: ['never-2@a.test', 'ok-2@c.test'], dataBytes: 3000 },
  ],
}

/** A message that is active for long, so that its start is carried; segments fill and come
 * back meanwhile. */
export const carried: Workload = {
  name: 'carried',
  setup: { ...smallSetup, suffixBytesMax: 4096, attempt: { deadlineMs: 6000 } },
  intervalsMs: [1000, 2000],
  lifetimeMs: 50_000,
  answerMs: 3,
  steps: [
    { atMs: 0, sender: 'm0@sender.test', recipients: ['hang1-0@slow.test', 'ok-0@a.test'], dataBytes: 300 },
    { atMs: 500, sender: 'm1@sender.test', recipients: ['fail1-1@a.test'], dataBytes: 100 },
    { atMs: 1500, sender: 'm2@sender.test', recipients: ['ok-2@a.test', 'ok-2b@b.test'], dataBytes: 1500 },
    { atMs: 2500, sender: 'm3@sender.test', recipients: ['defer1-3@b.test'], dataBytes: 2500 },
    { atMs: 3500, sender: 'm4@sender.test', recipients: ['ok-4@a.test'], dataBytes: 50 },
  ],
}

/** A lane whose log goes through several segments. */
export const turning: Workload = {
  name: 'turning',
  setup: { ...smallSetup, inlineBytesMax: 4096, checkpointIntervalMs: 400 },
  intervalsMs: [500],
  lifetimeMs: 50_000,
  answerMs: 0,
  steps: [
    { atMs: 0, sender: 'm0@sender.test', recipients: ['defer6-0@a.test'], dataBytes: 3500 },
    { atMs: 200, sender: 'm1@sender.test', recipients: ['defer5-1@a.test', 'ok-1@b.test'], dataBytes: 3900 },
  ],
}

/** More messages than may be active. */
export const crowded: Workload = {
  name: 'crowded',
  setup: { ...smallSetup, activeCountMax: 2 },
  intervalsMs: [1000, 3000],
  lifetimeMs: 50_000,
  answerMs: 2,
  steps: Array.from({ length: 5 }, (_, m) => ({
    atMs: m < 3 ? 0 : 900,
    sender: `m${m}@sender.test`,
    recipients: [`defer1-${m}@a.test`],
    dataBytes: 100 + 300 * m,
  })),
}

/** Every verb, on mail that waits, that is active, or that is large; marks in a lane whose
 * runner comes later. */
export const operated: Workload = {
  name: 'operated',
  setup: { ...smallSetup, checkpointIntervalMs: 500 },
  intervalsMs: [1500, 3000],
  lifetimeMs: 50_000,
  answerMs: 2,
  steps: [
    { atMs: 0, sender: 'm0@sender.test', recipients: ['defer1-0@a.test', 'ok-0@b.test'], dataBytes: 200 },
    { atMs: 0, sender: 'm1@sender.test', recipients: ['defer2-1@a.test'], dataBytes: 3000 },
    { atMs: 0, sender: 'm2@sender.test', recipients: ['never-2@a.test'], dataBytes: 100 },
    { atMs: 0, sender: 'm3@sender.test', recipients: ['defer1-3@b.test'], dataBytes: 500 },
  ],
  verbs: [
    { atMs: 300, verb: 'hold', sender: 'm0@sender.test' },
    { atMs: 400, verb: 'delete', sender: 'm1@sender.test' },
    { atMs: 600, verb: 'expire', sender: 'm2@sender.test' },
    { atMs: 700, verb: 'flush', sender: 'm3@sender.test' },
    { atMs: 1100, verb: 'release', sender: 'm0@sender.test' },
  ],
}

/** The other verbs, one behind the other on the same mail. */
export const redirected: Workload = {
  name: 'redirected',
  setup: { ...smallSetup, checkpointIntervalMs: 500 },
  intervalsMs: [1500, 3000],
  lifetimeMs: 50_000,
  answerMs: 2,
  steps: [
    { atMs: 0, sender: 'm0@sender.test', recipients: ['fail1-0@a.test', 'defer2-0@b.test'], dataBytes: 200 },
    { atMs: 0, sender: 'm1@sender.test', recipients: ['defer1-1@a.test'], dataBytes: 3000 },
  ],
  verbs: [
    { atMs: 0, verb: 'reroute', sender: 'm1@sender.test' },
    { atMs: 300, verb: 'reroute', sender: 'm0@sender.test' },
    { atMs: 500, verb: 'hold', sender: 'm0@sender.test' },
    { atMs: 700, verb: 'reroute', sender: 'm0@sender.test' },
    { atMs: 900, verb: 'requeue', sender: 'm0@sender.test' },
    { atMs: 1000, verb: 'hold', sender: 'm1@sender.test' },
    { atMs: 1200, verb: 'delete', sender: 'm1@sender.test' },
  ],
}

/** A life that delivers nothing: mail comes in, and every verb is carried out on it. */
export const accepting: Workload = {
  name: 'accepting',
  setup: { ...smallSetup, checkpointIntervalMs: 500, deliver: false },
  intervalsMs: [1000, 3000],
  lifetimeMs: 50_000,
  answerMs: 2,
  steps: [
    { atMs: 0, sender: 'm0@sender.test', recipients: ['ok-0@a.test', 'defer1-0@b.test'], dataBytes: 200 },
    { atMs: 0, sender: 'm1@sender.test', recipients: ['ok-1@a.test'], dataBytes: 3000, form: 'stream' },
    { atMs: 0, sender: 'm2@sender.test', recipients: ['ok-2@a.test'], dataBytes: 100 },
    { atMs: 0, sender: 'm3@sender.test', recipients: ['ok-3@b.test'], dataBytes: 2500, form: 'cut' },
    { atMs: 5, sender: 'm4@sender.test', recipients: ['fail0-4@b.test'], dataBytes: 100, form: 'reference' },
  ],
  verbs: [
    { atMs: 100, verb: 'hold', sender: 'm0@sender.test' },
    { atMs: 200, verb: 'expire', sender: 'm1@sender.test' },
    { atMs: 300, verb: 'reroute', sender: 'm0@sender.test', by: 'recipient' },
    { atMs: 400, verb: 'delete', sender: 'm2@sender.test', by: 'id' },
    { atMs: 700, verb: 'release', sender: 'm0@sender.test' },
    { atMs: 800, verb: 'requeue', sender: 'm4@sender.test', by: 'nexthop' },
  ],
}

/** The same queue, in a life that only accepts. */
export const onlyAccepts = (workload: Workload): Workload => ({
  ...workload,
  setup: { ...workload.setup, deliver: false },
})

/** In a life that only accepts and finds mail in lanes, on hold, or as an attempt left it. */
export const ordersBetween: readonly VerbStep[] = [
  { atMs: 0, verb: 'hold', sender: 'm0@sender.test' },
  { atMs: 10, verb: 'flush', sender: 'm1@sender.test' },
  { atMs: 20, verb: 'delete', sender: 'm2@sender.test' },
]

/** Recipients in separate frames: most are deferred together, then fewer than a frame holds; one
 * that is on hold meanwhile. */
export const manyRecipients: Workload = {
  name: 'many recipients',
  setup: { ...smallSetup, ...crowdSetup, checkpointIntervalMs: 500 },
  intervalsMs: [1000, 2000],
  lifetimeMs: 50_000,
  answerMs: 0,
  steps: [
    {
      atMs: 0,
      sender: 'm0@sender.test',
      recipients: crowd(['ok', 'defer1', 'defer1', 'ok']),
      dataBytes: 200,
    },
    { atMs: 0, sender: 'm1@sender.test', recipients: crowd(['fail0', 'ok', 'defer1']), dataBytes: 2500 },
  ],
  verbs: [
    { atMs: 300, verb: 'hold', sender: 'm0@sender.test', by: 'recipient' },
    { atMs: 700, verb: 'release', sender: 'm0@sender.test' },
  ],
}

/** A clock that is set back by days and minutes, and forward by less than mail lives; a site that
 * is given up on meanwhile. */
export const clockIsSet: Workload = {
  name: 'clock is set',
  setup: { ...smallSetup, checkpointIntervalMs: 500, scheduler: earlyDeath },
  intervalsMs: [1000, 2000],
  lifetimeMs: 50_000,
  answerMs: 2,
  steps: [
    { atMs: 0, sender: 'm0@sender.test', recipients: ['defer3-0@a.test', 'ok-0@b.test'], dataBytes: 200 },
    { atMs: 0, sender: 'm1@sender.test', recipients: ['fail1-1@a.test'], dataBytes: 3000 },
    { atMs: 250, sender: 'm2@sender.test', recipients: ['site1-2@site.test'], dataBytes: 100 },
    { atMs: 700, sender: 'm3@sender.test', recipients: ['defer2-3@b.test'], dataBytes: 100 },
  ],
  wallSteps: [
    { at: { ms: 300 }, byMs: -26 * 3_600_000 },
    { at: { ms: 1400 }, byMs: -600_000 },
    { at: { calls: 90 }, byMs: 20_000 },
  ],
}

/** Recipients that are given up while others of their messages wait, by destination: small and
 * large mail, a message on hold in between, one after the other, and without reports. */
export const expiredApart: Workload = {
  name: 'expired apart',
  setup: { ...smallSetup, checkpointIntervalMs: 500 },
  intervalsMs: [1000, 2000],
  lifetimeMs: 50_000,
  answerMs: 2,
  steps: [
    {
      atMs: 0,
      sender: 'm0@sender.test',
      recipients: ['never-0@impatient.test', 'defer3-0@a.test', 'ok-0@b.test'],
      dataBytes: 200,
    },
    {
      atMs: 0,
      sender: 'm1@sender.test',
      recipients: ['defer2-1@a.test', 'never-1@impatient.test', 'fail2-1@b.test', 'never-1b@impatient.test'],
      dataBytes: 3000,
    },
    {
      atMs: 10,
      sender: 'm2@sender.test',
      recipients: ['never-2+n@impatient.test', 'never-2+fo@impatient.test', 'defer4-2@b.test'],
      dataBytes: 100,
    },
    { atMs: 20, sender: 'm3@sender.test', recipients: ['never-3@impatient.test'], dataBytes: 100 },
  ],
  verbs: [
    { atMs: 1100, verb: 'hold', sender: 'm2@sender.test' },
    { atMs: 1700, verb: 'release', sender: 'm2@sender.test' },
  ],
}

/** Submissions from a network that are aborted ever later, and orders on what is attempted and
 * on what waits. */
export const givenUp: Workload = {
  name: 'given up',
  setup: { ...smallSetup, checkpointIntervalMs: 500 },
  intervalsMs: [1000, 2000],
  lifetimeMs: 50_000,
  answerMs: 300,
  steps: Array.from({ length: 18 }, (_, m) => ({
    atMs: 40 * m,
    sender: `m${m}@sender.test`,
    recipients: [`defer1-${m}@${m % 3 === 0 ? 'a' : 'b'}.test`],
    dataBytes: m % 4 < 2 ? 300 : 3000,
    ...(m % 3 === 0 ? {} : { form: 'paced' as const, abort: { calls: m >> 1 } }),
  })),
  verbs: [
    { atMs: 600, verb: 'hold', sender: 'm0@sender.test', abort: { calls: 0 } },
    { atMs: 650, verb: 'delete', sender: 'm3@sender.test', abort: { calls: 0 } },
    { atMs: 700, verb: 'delete', sender: 'm6@sender.test', by: 'domain', abort: { calls: 0 } },
    { atMs: 750, verb: 'hold', sender: '', by: 'all', abort: { calls: 2 } },
    { atMs: 1500, verb: 'flush', sender: '', by: 'all', abort: { calls: 1 } },
  ],
}

/** Many messages on hold, most of them deleted, so that the lane is compacted. */
export const crowdOnHold: Workload = {
  ...crowdingHold({ ...accepting, verbs: [] }, seededPrng(3)),
  name: 'crowd on hold',
}

/** Other intervals, and lanes with separate logs. */
export const changedPolicy = (workload: Workload): Workload => ({
  ...workload,
  name: `${workload.name}, changed`,
  setup: { ...workload.setup, layout: 'lanes' },
  intervalsMs: [700, 60_000],
  otherIntervalsMs: [workload.intervalsMs],
})

/** One log for everything. */
export const inOneLog = (workload: Workload): Workload => ({
  ...workload,
  name: `${workload.name}, in one log`,
  setup: { ...workload.setup, layout: 'single' },
})

/** Destinations that are suspended while mail for them is new, waits, and is retried; one is
 * resumed, and one is suspended again. */
export const suspended: Workload = {
  name: 'suspended',
  setup: {
    ...smallSetup,
    checkpointIntervalMs: 500,
    scheduler: { defaultDestinationConcurrencyLimit: 1, initialDestinationConcurrency: 1 },
  },
  intervalsMs: [1000, 2000],
  lifetimeMs: 90_000,
  answerMs: 120,
  steps: Array.from({ length: 10 }, (_, m) => ({
    atMs: m < 5 ? 0 : 250 * m,
    sender: `m${m}@sender.test`,
    recipients: [
      `${m % 4 === 1 ? 'defer1' : 'ok'}-${m}@${m % 3 === 2 ? 'b' : 'a'}.test`,
      ...(m % 5 === 3 ? [`ok-${m}b@b.test`] : []),
    ],
    dataBytes: m === 6 ? 3000 : 150,
  })),
  suspensions: [
    { atMs: 100, do: 'suspend', nexthop: 'a.test' },
    { atMs: 900, do: 'suspend', nexthop: 'b.test' },
    { atMs: 1700, do: 'resume', nexthop: 'a.test' },
    { atMs: 2900, do: 'suspend', nexthop: 'a.test' },
    { atMs: 4400, do: 'resume', nexthop: 'b.test' },
    { atMs: 5200, do: 'resume', nexthop: 'a.test' },
  ],
}

/** Mail that waits for a limit: some in memory, some in lanes, beside mail that is deferred, that
 * has another destination, and that no limit means. */
export const limited: Workload = {
  name: 'limited',
  setup: {
    ...smallSetup,
    checkpointIntervalMs: 500,
    // Two may wait in memory.
    activeCountMax: 8,
    limits: [
      { kind: 'nexthop', pattern: 'a.test', count: 1, perMs: 3000 },
      { kind: 'sender', pattern: 'm?@*', count: 2, perMs: 1000 },
    ],
  },
  intervalsMs: [1000, 2000],
  lifetimeMs: 90_000,
  answerMs: 120,
  steps: Array.from({ length: 8 }, (_, m) => ({
    atMs: m < 6 ? 0 : 250 * m,
    sender: `m${m}@sender.test`,
    recipients: [
      `${m % 4 === 1 ? 'defer1' : 'ok'}-${m}@${m % 3 === 2 ? 'b' : 'a'}.test`,
      ...(m % 3 === 0 ? [`${m === 3 ? 'defer1' : 'ok'}-${m}b@b.test`] : []),
    ],
    dataBytes: m === 6 ? 3000 : 150,
  })),
}

/** Sent in the life after the crash. */
export const afterwards: Workload['steps'] = [
  { atMs: 0, sender: 'x0@sender.test', recipients: ['ok-x@a.test'], dataBytes: 100 },
  { atMs: 5, sender: 'x1@sender.test', recipients: ['defer1-x@b.test'], dataBytes: 2500 },
]
