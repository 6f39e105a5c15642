/** Submitters that repeat a submission with its key: when it is accepted, and in every later life.
 * A plus and a `k` in the sender mark them for every life of a run. */
import { kibibyte, smallSetup, type Step, type Workload } from './workload.js'

/** undefined: it is submitted once. */
export const keyOf = (sender: string): string | undefined => (/\+k@/.test(sender) ? sender : undefined)

const fates = ['ok', 'defer1', 'fail0', 'defer2', 'ok', 'ok', 'never', 'ok', 'defer1'] as const

/** Segments of the journal and of the log of keys fill, and come back, while keys are repeated. */
export const keyed: Workload = {
  name: 'keyed',
  setup: {
    ...smallSetup,
    // Some keys wait for others, and hold the suffix meanwhile.
    suffixBytesMax: 32 * kibibyte,
    checkpointIntervalMs: 300,
    keyRetentionMs: 31_536_000_000,
  },
  intervalsMs: [1000, 2000],
  lifetimeMs: 8000,
  answerMs: 2,
  steps: fates.map((fate, m): Step => ({
    atMs: 250 * m,
    sender: m === 3 ? `m${m}@sender.test` : `m${m}+k@sender.test`,
    recipients: [`${fate}-${m}@${m % 2 === 0 ? 'a' : 'b'}.test`],
    dataBytes: 200 + 700 * (m % 5),
    ...(m === 4 ? { form: 'paced' } : {}),
  })),
}
