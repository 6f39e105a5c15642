/** What a start finds in the journal, when it calls back, no power loss takes away any more. */
import { expect, test } from 'vitest'
import { newMessageId, type MessageId } from '../../../src/base/message-id.js'
import type { Clock } from '../../../src/base/clock.js'
import type { Disk } from '../../../src/disk/disk.js'
import { openEngine } from '../../../src/engine/open.js'
import { idsInJournal } from '../../../src/inspect/records/journal-ids.js'
import type { DiskImage } from '../../../src/sim/disk/disk-image.js'
import { afterPowerLoss, live } from '../../sim/fixture.js'

const optionsOn = (disk: Disk, clock: Clock) => ({
  disk,
  clock,
  segmentBytes: 2 ** 16,
  laneSegmentBytes: 2 ** 16,
  freeBytesMin: 0,
  deliver: false,
  transports: {},
  route: () => ({ transport: 'none', nexthop: 'none' }),
})

/** A kill after the batch of a submission has reached the cache, and not the disk. */
async function killedInSync(id: MessageId): Promise<DiskImage> {
  const { disk } = await live(async (on, { disk: device, world }) => {
    const { engine, parts } = await openEngine('queue', optionsOn(on, world.clock))
    await engine.recovered
    parts.events.on('crashed', () => undefined)
    device.arm([{ at: 1, kinds: ['writeSynced'], under: 'journal/spare', errno: 'EIO', effect: 'all' }])
    const submission = { sender: 'a@example.org', recipients: ['b@example.net'], data: 'x\r\n', id }
    await expect(engine.accept.submit(submission)).rejects.toMatchObject({ code: 'QUEUE_CRASHED' })
  })
  return disk.killStates().next().value!.image
}

test('a batch that only the cache has is written again before a start calls back', async () => {
  const id = newMessageId()
  const wanted = new Set([id])
  const image = await killedInSync(id)
  let images: DiskImage[] = []
  const calledBack: boolean[] = []
  await live(
    async (on, { disk: device, world }) => {
      const { parts } = await openEngine('queue', optionsOn(on, world.clock), async (disk) => {
        calledBack.push((await idsInJournal(disk, wanted)).has(id))
        images = afterPowerLoss(device)
      })
      parts.life.end(undefined)
    },
    { image },
  )
  expect(calledBack).toEqual([true])
  expect(images.length).toBeGreaterThan(0)
  for (const left of images)
    await live(
      async (disk) => {
        expect(await idsInJournal(disk, wanted)).toEqual(wanted)
      },
      { image: left },
    )
})
