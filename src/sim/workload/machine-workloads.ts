/** Small workloads for a machine in trouble, or of another kind: mail is plain, what happens to it is not. */
import type { DiskModeName } from '../disk/disk-mode.js'
import { smallSetup, type Workload } from './workload.js'

/** A disk that hangs while one delivery follows another; and later it is in doubt whether the life owns the queue. */
export const diskHangs: Workload = {
  name: 'disk hangs',
  setup: { ...smallSetup, checkpointIntervalMs: 500, scheduler: { defaultDestinationConcurrencyLimit: 1 } },
  intervalsMs: [1000, 2000],
  lifetimeMs: 90_000,
  answerMs: 900,
  steps: Array.from({ length: 16 }, (_, m) => ({
    atMs: m < 12 ? 0 : 400,
    sender: `m${m}@sender.test`,
    recipients: [`${m % 5 === 3 ? 'defer1' : 'ok'}-${m}@a.test`],
    dataBytes: m === 5 ? 3000 : 200,
  })),
  hangs: [{ from: { ms: 300 }, forMs: 9000 }],
  doubts: [{ from: { ms: 12_000 }, forMs: 5000 }],
}

/** The same queue on a disk of another kind. */
export const onDisk = (workload: Workload, disk: DiskModeName): Workload => ({
  ...workload,
  name: `${workload.name}, ${disk}`,
  disk,
})
