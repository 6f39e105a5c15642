/** Mail that waits for a slow site while other mail passes: its segments are cleaned. */
import { smallSetup, type Step, type Workload } from './workload.js'

/** For the slow site; the first ones are attempted before anything is cleaned. */
const waiting: readonly (readonly string[])[] = [
  ['ok-0@a.test'],
  ['ok-1@a.test'],
  ['ok-2@a.test'],
  ['ok-3@a.test'],
  ['ok-4@a.test'],
  ['ok-5@a.test'],
  ['ok-6b@b.test', 'ok-6@a.test'],
  ['defer1-7@a.test'],
  ['fail0-8@a.test', 'defer1-8@c.test'],
  ['ok-9@a.test'],
]

export const cleaned: Workload = {
  name: 'cleaned',
  setup: {
    ...smallSetup,
    checkpointIntervalMs: 250,
    scheduler: { defaultDestinationConcurrencyLimit: 1 },
  },
  intervalsMs: [1000, 2000],
  lifetimeMs: 90_000,
  answerMs: 900,
  steps: [
    ...waiting.map((recipients, m): Step => ({
      atMs: 150 * m,
      sender: `m${m}@sender.test`,
      recipients: [...recipients],
      // The last one has its data in a file.
      dataBytes: m === 9 ? 3000 : 150,
    })),
    ...Array.from({ length: 40 }, (_, n): Step => ({
      atMs: 45 * n,
      sender: `n${n}@sender.test`,
      recipients: [`ok-n${n}@n${n}.test`],
      dataBytes: 1900,
    })),
  ].sort((a, b) => a.atMs - b.atMs),
}
