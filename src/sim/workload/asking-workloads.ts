/** Small workloads with DSN requests, by the letters of asked.ts. A new kind of end is added
 * here. */
import { manyRecipients } from './small-workloads.js'
import { smallSetup, type Workload } from './workload.js'

/** Unusual requests for every end of mail. One message is active for long, so its carried start has
 * reports that are still to be written. */
export const asking: Workload = {
  name: 'asking',
  setup: { ...smallSetup, suffixBytesMax: 4096, attempt: { deadlineMs: 4000 } },
  intervalsMs: [1000, 2000],
  lifetimeMs: 8000,
  warningAgesMs: [500],
  answerMs: 3,
  steps: [
    {
      atMs: 0,
      sender: 'm0@sender.test',
      recipients: ['ok-0+sro@a.test', 'ok-0b+sp@a.test', 'ok-0c+s@b.test', 'hang1-0+so@slow.test'],
      dataBytes: 300,
    },
    {
      atMs: 0,
      sender: 'm1@sender.test',
      recipients: ['fail0-1+n@a.test', 'fail0-1b+fo@a.test', 'ok-1+sr@b.test', 'defer2-1+sd@b.test'],
      dataBytes: 900,
    },
    { atMs: 10, sender: 'm2@sender.test', recipients: ['ok-2+s@a.test', 'ok-2b+f@b.test'], dataBytes: 3000 },
    {
      atMs: 20,
      sender: 'm3@sender.test',
      recipients: ['never-3+s@a.test', 'never-3b+fd@b.test'],
      dataBytes: 90,
    },
    {
      atMs: 1500,
      sender: 'm4@sender.test',
      recipients: ['defer1-4+sfo@a.test', 'ok-4@b.test'],
      dataBytes: 60,
    },
  ],
}

/** Many recipients, most of them with requests. */
export const askedOfMany: Workload = {
  ...manyRecipients,
  name: 'asked of many',
  steps: manyRecipients.steps.map((step) => ({
    ...step,
    recipients: step.recipients.map((address, r) =>
      address.replace('@', ['+s@', '+n@', '+fo@', '@', '+sro@'][r % 5]!),
    ),
  })),
}
