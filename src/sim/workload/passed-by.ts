/** Mail that waits for slow sites while other mail passes: whatever befalls such a run, segments
 * are cleaned in it.
 * Invariant: seeds below 100 000 have none of it, and a separate generator draws it. So old seeds
 * keep their meaning. */
import { below, pick, type Prng } from '../../base/prng.js'
import { kibibyte, type Step, type Workload } from './workload.js'

/** One of seven, from there on. */
export const isPassedBy = (seed: number): boolean => seed >= 100_000 && seed % 7 === 3

/** The same queue with slow sites, one delivery to each at a time. Little may pass an active
 * message before its segment is cleaned. */
export const withSlowSites = (workload: Workload, prng: Prng): Workload => ({
  ...workload,
  setup: {
    ...workload.setup,
    activeCountMax: pick(prng, [12, 100]),
    suffixBytesMax: pick(prng, [4, 8]) * kibibyte,
    checkpointIntervalMs: pick(prng, [50, 200]),
    scheduler: { ...workload.setup.scheduler, defaultDestinationConcurrencyLimit: 1 },
  },
  answerMs: 900,
  waitsForOthers: true,
})

/** Mail for many sites that have it soon.
 * @param life its number, so that no sender is used twice */
export const passingMail = (prng: Prng, life: number): Step[] => {
  const count = 16 + below(prng, 24)
  const everyMs = pick(prng, [5, 20, 45])
  return Array.from({ length: count }, (_, n) => ({
    atMs: n * everyMs,
    sender: `p${life}n${n}@sender.test`,
    recipients: [`ok-p${life}n${n}@n${n}.test`],
    dataBytes: pick(prng, [1500, 1900, 1900]),
  }))
}
