/** Whichever call of the disk the power is lost before, and however often, the history has each
 * outcome of mail that was accepted, once. */
import { expect, test } from 'vitest'
import type { HistoryEntry } from '../../src/history/history-entry.js'
import { fixedRetry } from '../../src/policy/fixed-retry.js'
import type { Queue } from '../../src/queue.js'
import type { DiskImage } from '../../src/sim/disk/disk-image.js'
import type { SimDisk } from '../../src/sim/disk/sim-disk.js'
import { SimWorld } from '../../src/sim/world/world.js'
import { simulatedLife } from '../engine/simulated-life.js'
import { mail } from '../engine/stage.js'

const recipients = ['ok-0', 'defer-1', 'ok-2', 'defer-3'].map((name) => `${name}@example.net`)

async function entriesOf(queue: Queue, id: string): Promise<readonly HistoryEntry[]> {
  return (await queue.history({ id }, { max: 1000 })).entries
}

interface Cut {
  readonly image: DiskImage
  /** Ids by recipient. */
  readonly settled: ReadonlyMap<string, string>
}

/** @param before called before each call of the disk, when outcomes are kept
 * @returns kinds by id */
async function live(
  seed: number,
  { image, settled: known }: Partial<Cut>,
  before: (disk: SimDisk, settled: ReadonlyMap<string, string>) => void,
): Promise<Map<string, string[]>> {
  const world = new SimWorld({ seed, overtakeMsMax: 1000 })
  const settled = new Map(known)
  const found = new Map<string, string[]>()
  let isKept = false
  const pause = (ms: number): Promise<void> => new Promise((resolve) => world.clock.after(ms, resolve))
  await simulatedLife(
    {
      world,
      seed,
      image,
      before: (disk) => {
        if (isKept) before(disk, settled)
      },
      options: {
        history: {},
        retry: fixedRetry([60]),
        transports: {
          out: {
            deliver: ({ recipients: [to], attempts }) =>
              to!.startsWith('defer') && attempts === 0
                ? { kind: 'deferred', status: '4.2.2', reason: 'later' }
                : { kind: 'delivered' },
          },
        },
      },
    },
    async (queue) => {
      while (queue.consumers().length === 0) await pause(5)
      isKept = true
      if (image === undefined)
        for (const to of recipients)
          settled.set(
            to,
            (await queue.submit({ sender: 'ada@example.org', recipients: [to], data: mail() })).id,
          )
      for (let isEmpty = false; !isEmpty;) {
        await pause(200)
        await queue.idle()
        isEmpty = true
        for await (const _ of queue.list()) isEmpty = false
      }
      await pause(20_000)
      for (const id of settled.values()) {
        const entries = await entriesOf(queue, id)
        found.set(
          id,
          entries.map(({ kind }) => kind),
        )
        const numbers = entries.map(({ number }) => number)
        expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b))
      }
    },
    5_000_000,
  )
  return found
}

test('no outcome is missing from the history behind a crash', async () => {
  const cuts: Cut[] = []
  let count = 0
  await live(1, {}, (disk, settled) => {
    if (count++ % 3 > 0) return
    for (const { image } of disk.crashStates({ statesMax: 1 }))
      cuts.push({ image, settled: new Map(settled) })
  })
  expect(cuts.length).toBeGreaterThan(30)
  for (const cut of cuts) {
    const found = await live(1 + cuts.length, cut, () => undefined)
    for (const [to, id] of cut.settled) {
      const due = ['accepted', ...(to.startsWith('defer') ? ['deferred'] : []), 'delivered', 'finished']
      expect({ to, kinds: found.get(id) }).toEqual({ to, kinds: expect.arrayContaining(due) })
    }
  }
})
