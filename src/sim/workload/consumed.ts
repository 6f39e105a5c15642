/** A queue whose outcomes somebody consumes, in each life. */
import { smallSetup, type Workload } from './workload.js'

/** Seeds of random runs in which somebody consumes outcomes. */
export const isConsumed = (seed: number): boolean => seed % 17 === 5

/** Each kind of outcome, and attempts that are under way when the consumer comes. */
export const consumed: Workload = {
  name: 'consumed',
  setup: { ...smallSetup, checkpointIntervalMs: 300 },
  intervalsMs: [1000, 2000],
  lifetimeMs: 8000,
  warningAgesMs: [500],
  answerMs: 20,
  consumes: true,
  steps: [
    { atMs: 0, sender: 'm0@sender.test', recipients: ['ok-0@a.test', 'defer1-0@b.test'], dataBytes: 200 },
    {
      atMs: 60,
      sender: 'm1@sender.test',
      recipients: ['never-1@impatient.test', 'defer2-1@a.test', 'never-1b@impatient.test'],
      dataBytes: 3000,
    },
    { atMs: 80, sender: 'm2@sender.test', recipients: ['fail0-2@a.test', 'ok-2@b.test'], dataBytes: 100 },
    { atMs: 90, sender: 'm3@sender.test', recipients: ['never-3@a.test'], dataBytes: 100 },
    { atMs: 120, sender: 'm4@sender.test', recipients: ['defer1-4@b.test'], dataBytes: 400 },
    { atMs: 150, sender: 'm5@sender.test', recipients: ['defer2-5@b.test'], dataBytes: 100 },
  ],
  verbs: [
    { atMs: 400, verb: 'hold', sender: 'm4@sender.test' },
    { atMs: 700, verb: 'delete', sender: 'm5@sender.test' },
    { atMs: 900, verb: 'release', sender: 'm4@sender.test' },
  ],
}
