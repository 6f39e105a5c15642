/** What lists or changes the mail of a queue settles when its life ends, whatever call of the disk
 * is under way then: calls of a disk that hangs never come back. */
import { expect, test } from 'vitest'
import { seededPrng } from '../../src/base/prng.js'
import type { Queue } from '../../src/queue.js'
import { mail, pause, simulated, submission, type Stage } from '../engine/stage.js'

async function all(messages: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of messages);
}

const domain = 'slow.example'

const callers: Readonly<Record<string, (queue: Queue) => Promise<unknown>>> = {
  list: (queue) => all(queue.list({ domain })),
  page: (queue) => queue.page({ domain }),
  message: (queue) => queue.message('0'.repeat(20)),
  hold: (queue) => queue.hold({ domain }),
}

/** Recipients of a message stand in frames that are read. */
async function fill(stage: Stage): Promise<void> {
  const recipients = Array.from({ length: 1001 }, (_, n) => `n${n}@${domain}`)
  for (let n = 0; n < 3; n++)
    await stage.queue.submit({ sender: 'ada@b.example', recipients, data: mail('to many') })
  for (let n = 0; n < 5; n++) await stage.queue.submit(submission(`ada@${domain}`))
}

test.each(Object.keys(callers))('%s settles when its life ends in the middle', async (name) => {
  for (let seed = 0; seed < 12; seed++)
    await simulated(
      async (stage) => {
        const prng = seededPrng(seed)
        const sizes = { segmentBytes: 256 * 1024, laneSegmentBytes: 256 * 1024 }
        const deliver = (): Promise<never> => new Promise(() => undefined)
        const options = { ...sizes, transports: { out: { deliver } } }
        await stage.open(options)
        await fill(stage)
        for (let life = 0; life < 4; life++) {
          const called = callers[name]!(stage.queue).then(
            () => true,
            () => true,
          )
          await pause(stage, (prng.uint32() % 40) / 4)
          await stage.open(options)
          const late = pause(stage, 60_000).then(() => false)
          expect(await Promise.race([called, late])).toBe(true)
        }
      },
      { seed, overtakeMsMax: 20 },
    )
})
