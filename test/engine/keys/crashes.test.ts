/** A key makes one message at most, through a loss of power before any call of the disk. */
import { expect, test } from 'vitest'
import type { Queue } from '../../../src/queue.js'
import { fixedRetry } from '../../../src/policy/fixed-retry.js'
import type { CrashState } from '../../../src/sim/disk/crash-states.js'
import type { DiskImage } from '../../../src/sim/disk/disk-image.js'
import type { SimDisk } from '../../../src/sim/disk/sim-disk.js'
import { SimWorld } from '../../../src/sim/world/world.js'
import { simulatedLife } from '../simulated-life.js'
import { mail } from '../stage.js'

const keys = ['a', 'b', 'c', 'd', 'e']
const addressOf = (key: string): string => `${key}@example.net`
const submit = (queue: Queue, key: string): Promise<{ id: string; isDuplicate?: true }> =>
  queue.submit({
    sender: 'ada@example.org',
    recipients: [addressOf(key)],
    data: mail('x\r\n'.repeat(3000)),
    idempotencyKey: key,
  })

/** Ids under which each address was delivered to. */
type Deliveries = ReadonlyMap<string, ReadonlySet<string>>

interface Life {
  readonly settled: Map<string, string>
  readonly delivered: Map<string, Set<string>>
}

interface Cut {
  readonly state: CrashState
  readonly settled: ReadonlyMap<string, string>
  readonly delivered: Deliveries
}

/** Submits all keys one after the other, twice, with pauses in which checkpoints are taken.
 * @param before called before each call of the disk */
async function live(
  seed: number,
  image: DiskImage | undefined,
  before: (disk: SimDisk, life: Life) => void,
): Promise<Life> {
  const world = new SimWorld({ seed })
  const life: Life = { settled: new Map(), delivered: new Map() }
  await simulatedLife(
    {
      world,
      seed,
      image,
      before: (disk) => before(disk, life),
      options: {
        retry: fixedRetry([100]),
        transports: {
          out: {
            deliver: ({ id, recipients: [to] }) => {
              const ids = life.delivered.get(to!) ?? new Set()
              life.delivered.set(to!, ids.add(id))
              return { kind: 'delivered' }
            },
          },
        },
      },
    },
    async (queue) => {
      for (const key of [...keys, ...keys]) {
        const { id } = await submit(queue, key)
        life.settled.set(key, id)
        await new Promise<void>((resolve) => world.clock.after(40, resolve))
      }
      await queue.idle()
    },
  )
  return life
}

const copyOf = (delivered: Deliveries): Deliveries =>
  new Map([...delivered].map(([to, ids]) => [to, new Set(ids)]))

test.each([1, 2, 3])(
  'a key makes one message, whichever call the power is lost before; seed %i',
  async (seed) => {
    const cuts: Cut[] = []
    await live(seed, undefined, (disk, { settled, delivered }) => {
      for (const state of disk.crashStates({ statesMax: 1 }))
        cuts.push({ state, settled: new Map(settled), delivered: copyOf(delivered) })
    })
    expect(cuts.length).toBeGreaterThan(100)
    let duplicateCount = 0
    for (const { state, settled, delivered } of cuts) {
      const next = await live(seed + cuts.length, state.image, () => undefined)
      for (const [key, id] of settled) {
        expect(next.settled.get(key), `${key} before ${cuts.length}`).toBe(id)
        duplicateCount++
      }
      for (const key of keys) {
        const ids = new Set([
          ...(delivered.get(addressOf(key)) ?? []),
          ...(next.delivered.get(addressOf(key)) ?? []),
        ])
        expect([key, ids.size]).toEqual([key, 1])
      }
    }
    expect(duplicateCount).toBeGreaterThan(0)
  },
)
