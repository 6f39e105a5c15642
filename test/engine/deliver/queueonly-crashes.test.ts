/** Mail that waits to be asked for (queueonly), through a loss of power before any call of the
 * disk: nobody's mail is lost, and none goes before its site has asked. */
import { expect, test } from 'vitest'
import { zmailerPolicy } from '../../../src/policy/zmailer-policy.js'
import type { CrashState } from '../../../src/sim/disk/crash-states.js'
import type { DiskImage } from '../../../src/sim/disk/disk-image.js'
import type { SimDisk } from '../../../src/sim/disk/sim-disk.js'
import { SimWorld } from '../../../src/sim/world/world.js'
import { simulatedLife } from '../simulated-life.js'
import { mail } from '../stage.js'

const conf = 'out/*\n  interval=1m\n  retries="1"\n  expiry=3d\n  queueonly\n'
const names = ['a', 'b', 'c', 'd', 'e', 'f']
const hourMs = 3_600_000

interface Life {
  readonly settled: Set<string>
  readonly counts: Map<string, number>
  hasAsked: boolean
}

interface Cut {
  readonly state: CrashState
  readonly settled: ReadonlySet<string>
  readonly counts: ReadonlyMap<string, number>
  readonly hasAsked: boolean
}

/** Submits what is not settled, waits for an hour, and asks for the site's mail.
 * @param before called before each call of the disk */
async function live(
  seed: number,
  image: DiskImage | undefined,
  toSubmit: readonly string[],
  before: (disk: SimDisk, life: Life) => void,
): Promise<Life & { readonly unasked: number }> {
  const world = new SimWorld({ seed })
  const life: Life = { settled: new Set(), counts: new Map(), hasAsked: false }
  let unasked = 0
  await simulatedLife(
    {
      world,
      seed,
      image,
      before: (disk) => before(disk, life),
      options: {
        retry: zmailerPolicy(conf),
        transports: {
          out: {
            deliver: ({ sender }) => {
              if (!life.hasAsked) unasked++
              life.counts.set(sender, (life.counts.get(sender) ?? 0) + 1)
              return { kind: 'delivered' }
            },
          },
        },
      },
    },
    async (queue) => {
      for (const name of toSubmit) {
        const sender = `${name}@example.org`
        await queue.submit({ sender, recipients: ['ada@example.net'], data: mail('x\r\n'.repeat(2000)) })
        life.settled.add(sender)
      }
      await new Promise<void>((resolve) => world.clock.after(hourMs, resolve))
      life.hasAsked = true
      await queue.flush({ nexthop: 'n' }, { perSecond: Infinity })
      await queue.idle()
    },
    10_000_000,
  )
  return { ...life, unasked }
}

test.each([1, 2])(
  'mail for a site that asks waits for it, and comes, whichever call the power is lost before; seed %i',
  async (seed) => {
    const cuts: Cut[] = []
    let hasBegun = false
    const whole = await live(seed, undefined, names, (disk, { settled, counts, hasAsked }) => {
      hasBegun ||= settled.size > 0
      if (!hasBegun) return
      for (const state of disk.crashStates({ statesMax: 1 }))
        cuts.push({ state, settled: new Set(settled), counts: new Map(counts), hasAsked })
    })
    expect([whole.unasked, whole.counts.size]).toEqual([0, names.length])
    expect(cuts.length).toBeGreaterThan(50)
    for (const { state, settled, counts, hasAsked } of cuts) {
      const next = await live(seed + 1, state.image, [], () => undefined)
      // What was asked for before the crash may go on as mail that was under way.
      expect(hasAsked ? 0 : next.unasked).toBe(0)
      for (const sender of settled) {
        const all = (counts.get(sender) ?? 0) + (next.counts.get(sender) ?? 0)
        expect([1, 2], `deliveries of ${sender}`).toContain(all)
      }
    }
    expect(new Set(cuts.map(({ hasAsked }) => hasAsked))).toEqual(new Set([false, true]))
  },
)
