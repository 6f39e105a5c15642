/** A queue whose suffix is full of outcomes: deliveries, deferrals into a trusted lane, orders to
 * hold; and one message in front of them all whose delivery never ends, so that no checkpoint
 * leaves them behind. */
import { SimDisk } from '../../src/sim/disk/sim-disk.js'
import { SimWorld } from '../../src/sim/world/world.js'
import { fixedRetry, openQueue } from '../../src/index.js'
import { bodyOf, fixtureStartMs, type Fixture } from './fixture-queue.js'

/** What became of the recipients of message i. */
const recipientsOf = (i: number): string[] =>
  [
    [`now${i}@ok.example`],
    [`now${i}@ok.example`, `then${i}@later.example`],
    [`now${i}@ok.example`, `never${i}@slow.example`],
    [`then${i}@later.example`],
  ][i % 4]!

export const messageCount = 60

/** Those of message i that were not delivered. */
export const owedOf = (i: number): string[] => recipientsOf(i).filter((address) => !address.includes('@ok'))

export async function outcomeQueue(): Promise<Fixture> {
  const world = new SimWorld({ seed: 11, order: 'fifo', wallStartMs: fixtureStartMs })
  const disk = new SimDisk(world)
  const open = openQueue('/', {
    transports: {
      site: {
        deliver: ({ nexthop }) =>
          nexthop === 'slow.example'
            ? new Promise<never>(() => undefined)
            : nexthop === 'ok.example'
              ? { kind: 'delivered' }
              : { kind: 'deferred', status: '4.4.1', reason: 'later' },
      },
    },
    route: (recipient) => ({ transport: 'site', nexthop: recipient.slice(recipient.indexOf('@') + 1) }),
    retry: fixedRetry([3_600_000]),
    segmentBytes: 256 * 1024,
    laneSegmentBytes: 64 * 1024,
    checkpointIntervalMs: 1000,
    clock: world.clock,
    prng: world.fork(),
    disk,
  })
  const queue = await world.settle(open)
  queue.on('crashed', () => undefined)
  const submit = async (recipients: readonly string[], i: number): Promise<string> => {
    const asked = queue.submit({ sender: 'sender@from.example', recipients, data: bodyOf(i, 400) })
    return (await world.settle(asked)).id
  }
  const pass = (ms: number): Promise<void> => world.run({ untilMs: world.nowMs + ms })
  await submit(['stuck@slow.example'], messageCount)
  const ids: string[] = []
  for (let i = 0; i < messageCount; i++) {
    ids.push(await submit(recipientsOf(i), i))
    if (i % 20 === 19) await pass(1500)
  }
  for (const id of ids.filter((_, i) => i % 8 === 3)) await world.settle(queue.hold({ id }))
  await pass(3000)
  queue.crash()
  const { image } = disk
  const files = new Map(image.files().map((path) => [path, image.bytes(path)]))
  const directories = Array.from(image.walk())
    .filter(([, node]) => node.kind === 'directory')
    .map(([path]) => path)
  return { files, directories, nowMs: world.clock.wallMs() }
}
