/** Small workloads of plain mail for a machine in trouble, or of another kind. */
import type { DiskModeName } from '../disk/disk-mode.js'
import { smallSetup, type Workload } from './workload.js'

/** A disk that hangs while one delivery follows another; and later it is in doubt whether the life
 * owns the queue. */
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

/** The same, and the doubt begins while the disk hangs, and ends behind that. */
export const hangsInDoubt: Workload = {
  ...diskHangs,
  name: 'hangs in doubt',
  doubts: [{ from: { ms: 6000 }, forMs: 8000 }],
}

/** The same queue on a disk of another kind. */
export const onDisk = (workload: Workload, disk: DiskModeName): Workload => ({
  ...workload,
  name: `${workload.name}, ${disk}`,
  disk,
})

/** A queue that is drained while one delivery follows another, some fail, and mail comes in. */
export const drained: Workload = {
  name: 'drained',
  setup: { ...smallSetup, checkpointIntervalMs: 500, scheduler: { defaultDestinationConcurrencyLimit: 2 } },
  intervalsMs: [1000, 2000],
  lifetimeMs: 90_000,
  answerMs: 300,
  steps: Array.from({ length: 14 }, (_, m) => ({
    atMs: m < 10 ? 0 : 250 + 60 * m,
    sender: `m${m}@sender.test`,
    recipients: [`${['ok', 'ok', 'defer1', 'fail0'][m % 4]}-${m}@${m % 2 === 0 ? 'a' : 'b'}.test`],
    dataBytes: m === 5 ? 3000 : 200,
  })),
  drain: { calls: 100 },
}

/** A message that ends the process in the step in which it is attempted, among mail that takes
 * longer than that. */
export const fatal: Workload = {
  name: 'fatal',
  setup: { ...smallSetup, checkpointIntervalMs: 500, fruitlessRecoveriesMax: 3 },
  intervalsMs: [1000, 2000],
  lifetimeMs: 90_000_000,
  answerMs: 300,
  steps: Array.from({ length: 6 }, (_, m) => ({
    atMs: 0,
    sender: `m${m}@sender.test`,
    recipients: [`${m === 2 ? 'fatal' : m === 4 ? 'defer1' : 'ok'}-${m}@${m % 2 === 0 ? 'a' : 'b'}.test`],
    dataBytes: 200,
  })),
}
