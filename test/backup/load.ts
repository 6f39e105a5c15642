/** A queue under load in a simulated world, and backups that are taken of it meanwhile.
 * Invariant: what a copy must hold and what it may not is known before it is looked at. */
import { below, type Prng } from '../../src/base/prng.js'
import { copyQueue } from '../../src/backup/copy.js'
import { DiskTarget } from '../../src/backup/disk-target.js'
import { isWaybillError } from '../../src/errors.js'
import type { KeptFiles } from '../../src/backup/back-up.js'
import { verify } from '../../src/inspect/verify/verify.js'
import { QueueDirectory } from '../../src/inspect/queue/queue-directory.js'
import { fixedRetry } from '../../src/policy/fixed-retry.js'
import { openQueue, type Queue } from '../../src/queue.js'
import type { DiskImage } from '../../src/sim/disk/disk-image.js'
import { SimDisk } from '../../src/sim/disk/sim-disk.js'
import { SimWorld } from '../../src/sim/world/world.js'

const small = {
  segmentBytes: 16 * 4096,
  laneSegmentBytes: 8 * 4096,
  inlineBytesMax: 4096,
  checkpointIntervalMs: 40,
  freeBytesMin: 0,
} as const

export interface Copy {
  readonly image: DiskImage
  /** Ids of messages that it must hold: settled before it began, and not delivered when
   * it was pinned. */
  readonly wanted: ReadonlySet<string>
  /** That it may not hold: their end was durable before it began. */
  readonly ended: ReadonlySet<string>
  readonly keys: ReadonlyMap<string, string>
}

export interface LoadOptions {
  readonly seed: number
  readonly copyCount: number
  /** Takes a guarantee away. */
  readonly keep?: (queue: Queue, pause: (ms: number) => Promise<void>) => Promise<KeptFiles>
}

/** @returns copies that were made, and how many could not be */
export async function copiesUnderLoad({
  seed,
  copyCount,
  keep = (queue) => queue.pinFiles(),
}: LoadOptions): Promise<{ readonly copies: readonly Copy[]; readonly brokenCount: number }> {
  const world = new SimWorld({ seed, overtakeMsMax: 1000 })
  const prng = world.fork()
  const pause = (ms: number): Promise<void> => new Promise((resolve) => world.clock.after(ms, resolve))
  return world.settle(
    (async () => {
      const settled = new Set<string>()
      const delivered = new Set<string>()
      const ended = new Set<string>()
      const keys = new Map<string, string>()
      const disk = new SimDisk(world)
      const queue = await openQueue('queue', {
        ...small,
        disk,
        clock: world.clock,
        prng: world.fork(),
        retry: fixedRetry([20, 80]),
        transports: {
          out: {
            deliver: async ({ id }) => {
              await pause(below(prng, 40))
              if (below(prng, 2) > 0) return { kind: 'deferred', status: '4.2.2', reason: 'full' }
              delivered.add(id)
              return { kind: 'delivered', response: '250 fine' }
            },
          },
        },
        route: () => ({ transport: 'out', nexthop: `site-${below(prng, 5)}` }),
      })
      let isOver = false
      const until = new AbortController()
      const consuming = consumeAll(queue, until.signal, ended)
      const submitting = Promise.all(
        [1, 2].map(async () => {
          for (let n = 0; !isOver; n++) {
            await submitOne(queue, prng, settled, keys)
            await pause(below(prng, 50))
          }
        }),
      )
      const holding = (async () => {
        while (!isOver) {
          await pause(50 + below(prng, 200))
          const [id] = [...settled].slice(-1 - below(prng, 5))
          if (id !== undefined) await queue[below(prng, 2) === 0 ? 'hold' : 'release']({ id })
        }
      })()
      const copies: Copy[] = []
      let brokenCount = 0
      await pause(500)
      for (let n = 0; n < copyCount; n++) {
        await pause(below(prng, 30))
        const before = new Set(settled)
        const endedBefore = new Set(ended)
        const keysBefore = new Map(keys)
        const kept = await keep(queue, pause)
        const wanted = new Set([...before].filter((id) => !delivered.has(id)))
        const to = new SimDisk(world)
        try {
          await copyQueue(
            disk,
            { journalEnd: kept.journalEnd, atMs: world.clock.wallMs() },
            new DiskTarget(to, { fills: false }),
            { signal: kept.lost },
          )
          copies.push({ image: to.image, wanted, ended: endedBefore, keys: keysBefore })
        } catch (error) {
          if (!isWaybillError(error)) throw error
          brokenCount++
        } finally {
          kept.release()
        }
      }
      isOver = true
      await submitting
      await holding
      until.abort()
      await consuming
      queue.crash()
      return { copies, brokenCount }
    })(),
    { eventsMax: 50_000_000 },
  )
}

async function consumeAll(queue: Queue, signal: AbortSignal, ended: Set<string>): Promise<void> {
  for await (const outcome of queue.outcomes({ consumer: 'it', signal }))
    if (outcome.kind === 'finished') ended.add(outcome.id)
}

async function submitOne(
  queue: Queue,
  prng: Prng,
  settled: Set<string>,
  keys: Map<string, string>,
): Promise<void> {
  const isLarge = below(prng, 12) === 0
  const data = `Subject: load\r\n\r\n${'x'
    .repeat(70)
    .concat('\r\n')
    .repeat(isLarge ? 60 + below(prng, 20) : 1 + below(prng, 20))}`
  const idempotencyKey = below(prng, 4) === 0 ? `key-${keys.size}-${prng.uint32()}` : undefined
  const { id } = await queue.submit({
    sender: 'ada@example.org',
    recipients: ['grace@example.net'],
    data,
    ...(idempotencyKey === undefined ? undefined : { idempotencyKey }),
  })
  settled.add(id)
  if (idempotencyKey !== undefined) keys.set(idempotencyKey, id)
}

/** What is wrong with a copy, if anything. */
export async function troublesOf({ image, wanted, ended, keys }: Copy): Promise<string[]> {
  const world = new SimWorld({ seed: 1, order: 'fifo' })
  return world.settle(
    (async () => {
      const troubles: string[] = []
      const disk = new SimDisk(world, { image })
      const directory = await QueueDirectory.open(disk, ({ reason }) => troubles.push(reason))
      await verify(
        directory!,
        ({ log, reason }) => troubles.push(`${log}: ${reason}`),
        () => undefined,
      )
      try {
        const queue = await openQueue('copy', {
          ...small,
          disk,
          clock: world.clock,
          prng: world.fork(),
          deliver: false,
          transports: { none: { deliver: () => ({ kind: 'delivered' }) } },
          route: () => ({ transport: 'none', nexthop: 'none' }),
        })
        const there = new Set<string>()
        queue.on('warning', ({ message }) => troubles.push(message))
        queue.on('crashed', ({ error }) => {
          if (error instanceof Error) troubles.push(error.message)
        })
        while (queue.stats().recovering && !queue.isCrashed)
          await new Promise<void>((resolve) => world.clock.after(5, resolve))
        for await (const { id } of queue.list()) {
          if (there.has(id)) troubles.push(`${id} is there twice`)
          there.add(id)
        }
        for (const id of wanted) if (!there.has(id)) troubles.push(`${id} is missing`)
        for (const id of ended) if (there.has(id)) troubles.push(`${id} had ended`)
        const [known] = [...keys].slice(-1)
        if (known !== undefined) {
          const [idempotencyKey, id] = known
          const again = await queue.submit({
            sender: 'ada@example.org',
            recipients: ['grace@example.net'],
            data: 'Subject: again\r\n\r\n',
            idempotencyKey,
          })
          if (again.id !== id) troubles.push(`the key ${idempotencyKey} is forgotten`)
        }
        queue.crash()
      } catch (error) {
        troubles.push(`it does not open: ${String(error)}`)
      }
      return troubles
    })(),
    { eventsMax: 500_000 },
  )
}
