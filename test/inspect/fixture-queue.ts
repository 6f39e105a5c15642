/** A queue with something of everything, as a crash left it: mail that was never tried, being
 * delivered, deferred in two lanes, on hold; delivered and refused recipients; large data in spool
 * files; recipients in separate frames; several lives. Always the same bytes. */
import type { DeliveryResult } from '../../src/delivery/transport.js'
import { openQueue } from '../../src/queue.js'
import type { Queue } from '../../src/queue.js'
import { fixedRetry } from '../../src/policy/fixed-retry.js'
import { SimDisk } from '../../src/sim/disk/sim-disk.js'
import { SimWorld } from '../../src/sim/world/world.js'
import type { Files } from './memory-disk.js'

export interface Fixture {
  readonly files: Files
  readonly directories: readonly string[]
  /** When it crashed. */
  readonly nowMs: number
}

export const fixtureStartMs: number = Date.UTC(2026, 0, 5, 12)

/** Message 0, 1, …: by its number everybody knows what it holds. */
export const bodyOf = (number: number, bytes: number): Buffer => {
  const header = `Subject: message ${number}\r\nFrom: <sender${number % 3}@from.example>\r\n\r\n`
  return Buffer.from(`${header}${`line of message ${number}\r\n`.repeat(Math.ceil(bytes / 20))}`)
}

function outcome(domain: string): DeliveryResult | Promise<DeliveryResult> {
  if (domain === 'later.example')
    return {
      kind: 'deferred',
      status: '4.4.1',
      reason: 'connect to mx.later.example:25: Connection timed out',
    }
  if (domain === 'full.example')
    return { kind: 'deferred', status: '4.2.2', reason: 'host mx.full.example said: 452 mailbox full' }
  if (domain === 'never.example') return { kind: 'failed', status: '5.1.1', reason: 'no such user' }
  return { kind: 'delivered' }
}

export async function fixtureQueue(layout: 'lanes' | 'single' = 'lanes'): Promise<Fixture> {
  const world = new SimWorld({ seed: 7, order: 'fifo', wallStartMs: fixtureStartMs })
  const disk = new SimDisk(world)
  let image = disk.image
  let number = 0
  const life = async (onDisk: SimDisk, body: (queue: Queue) => Promise<void>): Promise<void> => {
    const open = openQueue('/', {
      transports: {
        site: {
          deliver: ({ nexthop, recipients }) =>
            nexthop === 'slow.example'
              ? new Promise<never>(() => undefined)
              : withAll(outcome(nexthop), recipients.length),
        },
      },
      route: (recipient) => ({ transport: 'site', nexthop: recipient.slice(recipient.indexOf('@') + 1) }),
      retry: fixedRetry([600_000, 3_600_000]),
      layout,
      segmentBytes: 256 * 1024,
      laneSegmentBytes: 256 * 1024,
      inlineBytesMax: 6000,
      activeCountMax: 8,
      fruitlessRecoveriesMax: 1,
      checkpointIntervalMs: 1000,
      clock: world.clock,
      prng: world.fork(),
      disk: onDisk,
    })
    const queue = await world.settle(open)
    queue.on('crashed', () => undefined)
    await body(queue)
    queue.crash()
    image = onDisk.image
  }
  const submit = async (queue: Queue, to: readonly string[], bytes = 400): Promise<void> => {
    const sender = number % 5 === 4 ? '' : `sender${number % 3}@from.example`
    await world.settle(queue.submit({ sender, recipients: to, data: bodyOf(number++, bytes) }))
  }
  const pass = (ms: number): Promise<void> => world.run({ untilMs: world.nowMs + ms })

  await life(disk, async (queue) => {
    for (let i = 0; i < 12; i++) await submit(queue, [`user${i}@later.example`])
    await submit(queue, ['good@ok.example', 'bad@never.example', 'wait@full.example'], 3000)
    await submit(
      queue,
      Array.from({ length: 1200 }, (_, i) => `r${i}@later.example`),
    )
    await submit(queue, ['big@later.example'], 9000)
    await pass(5000)
    await submit(queue, ['stuck@slow.example', 'quick@ok.example'])
    await submit(queue, ['bigstuck@slow.example'], 8000)
    await pass(700_000)
    for (let i = 0; i < 4; i++) await submit(queue, [`young${i}@full.example`])
    await pass(3000)
  })
  for (let again = 0; again < 2; again++)
    await life(new SimDisk(world, { image }), async (queue) => {
      await pass(2500)
      await submit(queue, [`held${again}@slow.example`])
      await pass(2500)
    })
  await life(new SimDisk(world, { image }), async (queue) => {
    await pass(2500)
    await submit(queue, ['part@ok.example', 'part@slow.example', 'part@never.example'])
    for (let i = 0; i < 10; i++) await submit(queue, [`busy${i}@slow.example`])
    await pass(1500)
    for (let i = 0; i < 3; i++) await submit(queue, [`late${i}@later.example`])
    await pass(20)
  })
  const files = new Map(image.files().map((path) => [path, image.bytes(path)]))
  const directories = Array.from(image.walk())
    .filter(([, node]) => node.kind === 'directory')
    .map(([path]) => path)
  return { files, directories, nowMs: world.clock.wallMs() }
}

const withAll = (
  result: DeliveryResult | Promise<DeliveryResult>,
  count: number,
): DeliveryResult | Promise<DeliveryResult> =>
  result instanceof Promise || !('kind' in result) || result.kind === 'site'
    ? result
    : Array.from({ length: count }, () => result)
