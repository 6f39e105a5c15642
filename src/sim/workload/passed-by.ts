/** Mail that waits for slow sites while other mail passes: whatever befalls such a run, segments are
 * cleaned in it.
 * Invariant: seeds that tests and clues name have none of it, and a separate generator draws it. */
import { below, pick, type Prng } from '../../base/prng.js'
import { kibibyte, type Step, type Workload } from './workload.js'

/** Of the seeds above those that tests and clues name, one of seven. */
export const isPassedBy = (seed: number): boolean => seed >= 100_000 && seed % 7 === 3

/** The same queue with slow sites, one delivery to each at a time. Little may pass an active message
 * before its segment is cleaned. */
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
})

/** Mail for many sites that have it soon. @param life its number, so that no sender is used twice */
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
