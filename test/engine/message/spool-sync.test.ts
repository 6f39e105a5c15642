/** Files of large mail that are finished at once share the syncs of their directory. */
import { expect, test } from 'vitest'
import type { Disk, DiskFile } from '../../../src/disk/disk.js'
import { Spool, type SpoolFile } from '../../../src/engine/message/spool.js'

interface Staged {
  readonly spool: Spool
  /** Syncs that have begun: each ends when it is called. */
  readonly syncs: ((error?: Error) => void)[]
  readonly failures: unknown[]
}

function staged(): Staged {
  const syncs: Staged['syncs'] = []
  const failures: unknown[] = []
  const done = (): Promise<void> => Promise.resolve()
  const file = { write: done, sync: done, close: done } as Partial<DiskFile> as DiskFile
  const disk = { open: () => Promise.resolve(file) } as Partial<Disk> as Disk
  const syncDirectory = (): Promise<void> =>
    new Promise((resolve, reject) => {
      syncs.push((error) => (error === undefined ? resolve() : reject(error)))
    })
  const callbacks = {
    checkpoint: done,
    isPinned: () => false,
    onTooMany: () => undefined,
    onFailure: (error: unknown) => failures.push(error),
  }
  return { spool: new Spool(disk, { syncDirectory }, 2 ** 20, 1, [], callbacks), syncs, failures }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Finishes one. */
async function begun(spool: Spool): Promise<{ file: SpoolFile; end: () => string }> {
  const file = await spool.create()
  let end = 'is waiting'
  file.finish().then(
    () => (end = 'durable'),
    (error: unknown) => (end = String(error)),
  )
  await turn()
  return { file, end: () => end }
}

test('a file that is finished while a sync is under way waits for the next one, which all of these share', async () => {
  const { spool, syncs } = staged()
  const first = await begun(spool)
  expect(syncs.length).toBe(1)
  const others = [await begun(spool), await begun(spool), await begun(spool)]
  expect(syncs.length).toBe(1)
  syncs[0]!()
  await turn()
  expect(first.end()).toBe('durable')
  // It had begun when their names were not there yet.
  expect(others.map(({ end }) => end())).toEqual(['is waiting', 'is waiting', 'is waiting'])
  expect(syncs.length).toBe(2)
  const late = await begun(spool)
  syncs[1]!()
  await turn()
  expect(others.map(({ end }) => end())).toEqual(['durable', 'durable', 'durable'])
  expect([late.end(), syncs.length]).toEqual(['is waiting', 3])
  syncs[2]!()
  await turn()
  expect(late.end()).toBe('durable')
  await begun(spool)
  expect(syncs.length).toBe(4)
})

test('a sync that fails is the failure of all who share it, and of those behind it', async () => {
  const { spool, syncs, failures } = staged()
  const first = await begun(spool)
  const second = await begun(spool)
  syncs[0]!(new Error('the device is gone'))
  await turn()
  const third = await begun(spool)
  expect([first, second, third].map(({ end }) => end())).toEqual(
    ['first', 'second', 'third'].map(() => 'Error: the device is gone'),
  )
  expect([failures.length, syncs.length]).toEqual([1, 1])
})
