import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { nodeDisk } from '../../../src/disk/node-disk.js'
import type { Disk } from '../../../src/disk/disk.js'
import { openQueue } from '../../../src/index.js'
import { Messages } from '../../../src/inspect/messages/messages.js'
import { QueueDirectory } from '../../../src/inspect/queue/queue-directory.js'
import type { QueuedMessage } from '../../../src/inspect/messages/queued-message.js'
import { takeSnapshot } from '../../../src/inspect/queue/snapshot.js'
import { SimDisk } from '../../../src/sim/disk/sim-disk.js'
import { SimWorld } from '../../../src/sim/world/world.js'
import { parseArguments } from '../../../tools/commands/cli/command.js'
import { fill } from '../../../tools/commands/fill/fill.js'
import { logVerify } from '../../../tools/commands/look/log-verify.js'
import { mailq } from '../../../tools/commands/look/mailq.js'
import { command } from '../../inspect/commanded.js'
import { MemoryDisk } from '../../inspect/memory-disk.js'

const small = ['--segment-size', '256K', '--lane-segment-size', '256K']

const filled = (args: readonly string[], openDisk: (path: string) => Disk, nowMs: number): Promise<number> =>
  fill.runIn(parseArguments(fill, ['--queue', 'filled', ...small, ...args]), {
    write: () => Promise.resolve(),
    complain: () => undefined,
    nowMs: () => nowMs,
    isTerminal: false,
    complainsToTerminal: false,
    openDisk,
    stopped: AbortSignal.abort(),
  })

async function messagesOn(disk: Disk): Promise<QueuedMessage[]> {
  const directory = (await QueueDirectory.open(disk, () => undefined))!
  const messages: QueuedMessage[] = []
  const snapshot = await takeSnapshot(directory)
  for await (const batch of new Messages(directory, snapshot, {
    report: ({ reason }) => expect.fail(reason),
  }).batches())
    messages.push(...batch)
  return messages
}

test('the mail of a filled queue is delivered, each message when it is due, and held mail is not', async () => {
  const world = new SimWorld({ seed: 5, order: 'fifo' })
  const disk = new SimDisk(world)
  const startMs = world.clock.wallMs()
  await world.settle(filled(['--count', '300', '--hold', '5', '--recipients', '1.2'], () => disk, startMs))
  const { image } = disk
  const files = new Map(image.files().map((path) => [path, image.bytes(path)]))
  const messages = await messagesOn(new MemoryDisk(files))
  const dueById = new Map<string, number>(
    messages.filter(({ where }) => where === 'deferred').map(({ envelope, dueAt }) => [envelope.id, dueAt]),
  )
  expect([messages.length, dueById.size]).toEqual([305, 300])

  const delivered = new Map<string, number>()
  let recipientCount = 0
  const opening = openQueue('/', {
    transports: {
      all: {
        deliver: ({ id, recipients }) => {
          delivered.set(id, world.clock.wallMs())
          recipientCount += recipients.length
          return { kind: 'delivered' }
        },
      },
    },
    route: () => ({ transport: 'all', nexthop: 'everywhere' }),
    clock: world.clock,
    prng: world.fork(),
    disk: new SimDisk(world, { image }),
  })
  const queue = await world.settle(opening)
  await world.run({ untilMs: world.nowMs + 4_100_000 })
  queue.crash()
  expect([...delivered.keys()].sort()).toEqual([...dueById.keys()].sort())
  expect(recipientCount).toBe(
    messages.reduce((sum, { where, waitingCount }) => sum + (where === 'hold' ? 0 : waitingCount), 0),
  )
  const waits = [...delivered].map(([id, at]) => at - Math.max(startMs, dueById.get(id)!))
  expect(Math.min(...waits)).toBeGreaterThanOrEqual(0)
  expect(Math.max(...waits)).toBeLessThan(1000)
})

test('a filled queue is sound, as large as was asked, and the same for the same seed', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'waybill-fill-'))
  try {
    const nowMs = Date.UTC(2026, 4, 1)
    const listings: string[] = []
    for (const [i, seed] of ['3', '3', '4'].entries()) {
      const path = join(directory, String(i))
      const args = ['--count', '200', '--hold', '20', '--incoming', '10', '--seed', seed]
      expect(await filled(args, () => nodeDisk(path), nowMs)).toBe(0)
      const verified = await command(logVerify, ['--json', '--queue', path], nodeDisk, nowMs)
      expect(JSON.parse(verified.stdout)).toMatchObject({ sound: true, messages: 230 })
      const listed = await command(mailq, ['--queue', path, '--lane', 'deferred'], nodeDisk, nowMs)
      listings.push(listed.stdout)
    }
    expect(listings[0]).toBe(listings[1])
    expect(listings[0]).not.toBe(listings[2])
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
})
