/** Mail that waits for a slow site, and is written once more because other mail passes it. */
import { smallSetup, type Step, type Workload } from './workload.js'

const waiting = ['ok-0@a.test', 'ok-1@a.test', 'defer1-2@a.test', 'ok-3@a.test', 'fail0-4@a.test']

export const kept: Workload = {
  name: 'kept',
  setup: {
    ...smallSetup,
    suffixBytesMax: 8192,
    checkpointIntervalMs: 250,
    scheduler: { defaultDestinationConcurrencyLimit: 1 },
  },
  intervalsMs: [1000, 2000],
  lifetimeMs: 90_000,
  answerMs: 900,
  steps: [
    ...waiting.map((recipient, m): Step => ({
      atMs: 0,
      sender: `m${m}@sender.test`,
      recipients: m === 1 ? [recipient, 'ok-1b@b.test'] : [recipient],
      dataBytes: m === 3 ? 3000 : 150,
    })),
    ...Array.from({ length: 25 }, (_, n): Step => ({
      atMs: 100 + 60 * n,
      sender: `n${n}@sender.test`,
      recipients: [`ok-n${n}@n${n}.test`],
      dataBytes: 1900,
    })),
  ],
}
