/** A queue of small segments, for tests that are about something else. One of 64 MiB each begins
 * with 200 MiB of zeroes, written and synced: more work than what most tests are about.
 * Invariant: it is made once for all tests, by the engine, and copied (end-to-end/laid-queue.ts);
 * a life keeps to the sizes with which its queue was made. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { openQueue } from '../src/index.js'

declare module 'vitest' {
  interface ProvidedContext {
    readonly smallQueue: string
  }
}

/** Before all tests. @returns what is done after them */
export default async function makeSmallQueue({ provide }: TestProject): Promise<() => Promise<void>> {
  const directory = await mkdtemp(join(tmpdir(), 'waybill-small-'))
  const path = join(directory, 'queue')
  const queue = await openQueue(path, {
    transports: { none: { deliver: () => ({ kind: 'delivered' }) } },
    route: () => ({ transport: 'none', nexthop: 'none' }),
    deliver: false,
    // The smallest that take data of the default `inlineBytesMax`.
    segmentBytes: 1024 * 1024,
  })
  // A queue without any durable batch is made again by the next life, with the sizes of that one.
  await queue.idle()
  queue.crash()
  provide('smallQueue', path)
  return () => rm(directory, { recursive: true, force: true })
}
