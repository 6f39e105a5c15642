/** O12: a consumer sees every durable outcome at least once, whichever call of the disk the power
 * is lost before. */
import { expect, test } from 'vitest'
import type { QueueOutcome } from '../../../src/record/outcome.js'
import { fixedRetry } from '../../../src/policy/fixed-retry.js'
import type { DiskImage } from '../../../src/sim/disk/disk-image.js'
import type { SimDisk } from '../../../src/sim/disk/sim-disk.js'
import { SimWorld } from '../../../src/sim/world/world.js'
import { simulatedLife } from '../simulated-life.js'
import { mail } from '../stage.js'

interface Life {
  /** Ids by recipient. */
  readonly settled: Map<string, string>
  /** What the consumer is done with. */
  readonly consumed: QueueOutcome[]
  /** What it was given beyond that. */
  readonly given: QueueOutcome[]
  isKnown: boolean
}

/** So that the log needs room, and waits for it with an outcome half copied. */
const long = 'x'.repeat(480)

const recipients = ['ok-0', 'defer-1', 'ok-2', 'defer-3', 'ok-4', 'defer-5', 'ok-6'].map(
  (name) => `${name}@example.net`,
)

/** @param before called before each call of the disk */
async function live(
  seed: number,
  image: DiskImage | undefined,
  before: (disk: SimDisk, life: Life) => void,
): Promise<Life> {
  const world = new SimWorld({ seed, overtakeMsMax: 1000 })
  const life: Life = { settled: new Map(), consumed: [], given: [], isKnown: false }
  const pause = (ms: number): Promise<void> => new Promise((resolve) => world.clock.after(ms, resolve))
  await simulatedLife(
    {
      world,
      seed,
      image,
      before: (disk) => before(disk, life),
      options: {
        retry: fixedRetry([60]),
        transports: {
          out: {
            deliver: ({ recipients: [to], attempts }) =>
              to!.startsWith('defer') && attempts === 0
                ? { kind: 'deferred', status: '4.2.2', reason: long }
                : { kind: 'delivered', response: long },
          },
        },
      },
    },
    async (queue) => {
      const abort = new AbortController()
      const consuming = (async () => {
        for await (const outcome of queue.outcomes({ consumer: 'it', signal: abort.signal })) {
          if (outcome.kind === 'gap') throw new Error(`a gap of ${outcome.from} to ${outcome.to}`)
          life.given.push(outcome)
          await pause(3)
          life.consumed.push(life.given.pop()!)
        }
      })()
      while (queue.consumers().length === 0) await pause(5)
      life.isKnown = true
      if (image === undefined)
        for (const to of recipients) {
          const data = mail('x\r\n'.repeat(to.endsWith('4@example.net') ? 2500 : 100))
          const { id } = await queue.submit({ sender: 'ada@example.org', recipients: [to], data })
          life.settled.set(to, id)
          if (to.startsWith('defer')) await pause(30)
        }
      for (let isEmpty = false; !isEmpty;) {
        await pause(200)
        await queue.idle()
        isEmpty = true
        for await (const _ of queue.list()) isEmpty = false
      }
      for (let count = -1; count < life.consumed.length;) {
        count = life.consumed.length
        await pause(20_000)
      }
      abort.abort()
      await consuming
    },
    5_000_000,
  )
  return life
}

const nameOf = ({ kind, id }: QueueOutcome): string => `${kind} ${id}`

test.each([1, 2, 3])('no durable outcome is missed; seed %i', async (seed) => {
  const cuts: {
    image: DiskImage
    settled: Map<string, string>
    consumed: QueueOutcome[]
    isKnown: boolean
  }[] = []
  await live(seed, undefined, (disk, { settled, consumed, isKnown }) => {
    if (isKnown)
      for (const { image } of disk.crashStates({ statesMax: 1 }))
        cuts.push({ image, settled: new Map(settled), consumed: [...consumed], isKnown })
  })
  expect(cuts.length).toBeGreaterThan(100)
  let repeatedCount = 0
  for (const { image, settled, consumed } of cuts) {
    const { consumed: later } = await live(seed + cuts.length, image, () => undefined)
    const all = [...consumed, ...later]
    const seen = new Set(all.map(nameOf))
    for (const [to, id] of settled) {
      const due = to.startsWith('defer')
        ? ['accepted', 'deferred', 'delivered', 'finished']
        : ['accepted', 'delivered', 'finished']
      for (const kind of due) expect(seen, `${kind} of ${to}`).toContain(`${kind} ${id}`)
    }
    // In order, and what is given again has the number that it had.
    const numbers = later.map(({ number }) => number)
    expect(numbers).toEqual(numbers.map((_, i) => (numbers[0] ?? 0) + i))
    const before = new Map(consumed.map((outcome) => [outcome.number, nameOf(outcome)]))
    for (const outcome of later) {
      const was = before.get(outcome.number)
      if (was === undefined) continue
      expect(nameOf(outcome)).toBe(was)
      repeatedCount++
    }
    expect(numbers[0] ?? 0).toBeLessThanOrEqual(consumed.length + 1)
  }
  expect(repeatedCount).toBeGreaterThan(0)
})
