/** Damage takes the record that says that a message was started: the message is whole, and
 * must be found. */
import { expect, test } from 'vitest'
import { seededPrng } from '../../../src/base/prng.js'
import { fixedRetry, openQueue, type Outcome, type Queue } from '../../../src/index.js'
import { Messages } from '../../../src/inspect/messages/messages.js'
import { QueueDirectory } from '../../../src/inspect/queue/queue-directory.js'
import { takeSnapshot } from '../../../src/inspect/queue/snapshot.js'
import { kindAt, kinds } from '../../../src/record/frame.js'
import { SimDisk } from '../../../src/sim/disk/sim-disk.js'
import { SimWorld } from '../../../src/sim/world/world.js'
import { Anatomy } from '../anatomy.js'
import { MemoryDisk, type Files } from '../memory-disk.js'
import { outcomeQueue } from '../outcome-queue.js'

interface Sound {
  readonly files: Files
  readonly directories: readonly string[]
}

/** `?` behind those that may have been delivered. */
async function listed(files: Files, { directories }: Sound): Promise<string[]> {
  const queue = (await QueueDirectory.open(new MemoryDisk(files, directories), () => undefined))!
  const messages = new Messages(queue, await takeSnapshot(queue), { report: () => undefined })
  const ids: string[] = []
  for await (const batch of messages.batches())
    for (const { envelope, uncertain } of batch) ids.push(`${envelope.id}${uncertain ? '?' : ''}`)
  return ids.sort()
}

/** The files once for each start in the journal, without that one. */
function* withoutOne(files: Files): Generator<Files> {
  const anatomy = new Anatomy(files)
  const from = anatomy.indexes[0]! * anatomy.segmentBytes
  for (const { path, at, bytes } of anatomy.frames(0, from, (anatomy.newest + 1) * anatomy.segmentBytes)) {
    if (kindAt(bytes, at) !== kinds.start) continue
    const changed = Buffer.from(files.get(path)!)
    changed[at + 17]! ^= 1
    yield new Map(files).set(path, changed)
  }
}

const certain = (id: string): string => id.replace('?', '')

async function losingOneStart(sound: Sound): Promise<{ count: number; foundAgain: number }> {
  const all = await listed(sound.files, sound)
  let count = 0
  let foundAgain = 0
  for (const files of withoutOne(sound.files)) {
    count++
    const now = await listed(files, sound)
    expect(now.map(certain)).toEqual(expect.arrayContaining(all))
    // The one whose start it was; its end names a start that nobody knows.
    expect(now.filter((id) => !all.includes(certain(id))).length).toBeLessThanOrEqual(1)
    foundAgain += now.filter((id) => id.endsWith('?') && all.includes(certain(id))).length
  }
  return { count, foundAgain }
}

test('whichever start is damaged, every message that is owed is listed, and one more at the most', async () => {
  const { count, foundAgain } = await losingOneStart(await outcomeQueue())
  expect(count).toBeGreaterThan(60)
  expect(foundAgain).toBeGreaterThan(0)
})

/** Five messages that are being worked on at the end.
 * @param use what else happens to them */
async function workedOn(
  deliver: (attempts: number) => Outcome | Promise<Outcome>,
  use: (queue: Queue, world: SimWorld, open: () => Promise<Queue>) => Promise<Queue>,
): Promise<Sound> {
  const world = new SimWorld({ seed: 3, order: 'fifo', wallStartMs: 1_700_000_000_000 })
  let disk = new SimDisk(world)
  const open = (): Promise<Queue> =>
    world.settle(
      openQueue('/', {
        transports: { site: { deliver: ({ attempts }) => deliver(attempts) } },
        route: () => ({ transport: 'site', nexthop: 'nowhere' }),
        retry: fixedRetry([3_600_000]),
        segmentBytes: 256 * 1024,
        clock: world.clock,
        prng: seededPrng(1),
        disk,
      }),
    )
  const first = await open()
  for (let i = 0; i < 5; i++) {
    const message = { sender: 'a@b.example', recipients: [`r${i}@c.example`], data: 'Subject: x\r\n\r\n' }
    await world.settle(first.submit(message))
  }
  await world.run({ untilMs: world.nowMs + settledMs })
  const last = await use(first, world, () => {
    disk = new SimDisk(world, { image: disk.image })
    return open()
  })
  await world.run({ untilMs: world.nowMs + settledMs })
  last.crash()
  const { image } = disk
  return {
    files: new Map(image.files().map((path) => [path, image.bytes(path)])),
    directories: Array.from(image.walk())
      .filter(([, node]) => node.kind === 'directory')
      .map(([path]) => path),
  }
}

/** Until every checkpoint that was wanted is durable. */
const settledMs = 20_000
const never = new Promise<never>(() => undefined)

test('a message whose start was carried over by a recovery is listed when the new one is damaged', async () => {
  const sound = await workedOn(
    () => never,
    async (queue, _world, open) => {
      queue.crash()
      return open()
    },
  )
  expect(await losingOneStart(sound)).toEqual({ count: 10, foundAgain: 5 })
})

test('a message that was flushed is listed when its second start is damaged, though its lane has marked it', async () => {
  const sound = await workedOn(
    (attempts) => (attempts === 0 ? { kind: 'deferred', status: '4.4.1', reason: 'later' } : never),
    async (queue, world) => {
      await world.settle(queue.flush({ all: true }))
      return queue
    },
  )
  expect(await losingOneStart(sound)).toEqual({ count: 10, foundAgain: 5 })
})
