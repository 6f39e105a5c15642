/** Mail in maildrop, and the report of a refused recipient, is taken up exactly once, wherever
 * the relays that take it up are killed. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { below, pick, seededPrng, type Prng } from '../../../src/base/prng.js'
import type { MessageId } from '../../../src/base/message-id.js'
import { openQueue, WaybillError, type Queue } from '../../../src/index.js'
import { dropMail, makeMaildrop } from '../../../src/relay/maildrop/maildrop-file.js'
import { Pickup } from '../../../src/relay/maildrop/pickup.js'
import type { SubmitPort } from '../../../src/relay/smtp-in/smtp-handlers.js'
import { temporaryDirectory } from '../../temporary-directory.js'

/** What a file meets in a life: its message becomes durable, and the relay is killed before the
 * file is removed; it is killed before anything is submitted; or all goes well. */
const fates = ['killed when durable', 'killed before', 'taken'] as const

const refusedAddress = 'no address'

/** A relay's life. What hangs at its end goes no further, and leaves its file as a kill would. */
async function liveAndDie(queue: string, prng: Prng, isLast: boolean): Promise<void> {
  const opened = await open(queue)
  let die: (error: Error) => void
  const killed = new Promise<never>((_, reject) => (die = reject))
  killed.catch(() => undefined)
  const submit: SubmitPort['submit'] = async (submission) => {
    const isReport = submission.sender === ''
    if (isReport && !isLast && below(prng, 2) === 0) return killed
    const fate = isLast || isReport ? 'taken' : pick(prng, fates)
    if (fate === 'killed before') return killed
    const accepted = await opened.submit(submission)
    return fate === 'taken' ? accepted : killed
  }
  const troubles: unknown[] = []
  const pickup = new Pickup({
    queue,
    port: { limits: opened.limits, submit },
    sizeBytesMax: 1000,
    hostname: 'mx.example.net',
    onRefusal: (_, error) => troubles.push(error),
    onReported: () => {},
    onTrouble: (error) => troubles.push(error),
  })
  const looked = pickup.look()
  await (isLast ? looked : Promise.race([looked, setTimeout(below(prng, 60))]))
  pickup.stop()
  opened.crash()
  die!(new WaybillError('QUEUE_CRASHED', 'killed'))
  await looked
  expect(troubles.filter((trouble) => (trouble as { code?: string }).code !== 'QUEUE_CRASHED')).toEqual([])
}

const open = (queue: string): Promise<Queue> =>
  openQueue(queue, {
    segmentBytes: 2 ** 20,
    laneSegmentBytes: 2 ** 20,
    deliver: false,
    transports: {},
    route: () => ({ transport: 'none', nexthop: 'none' }),
  })

test.each([1, 2, 3, 4])('every message is in the queue once, seed %i', async (seed) => {
  const prng = seededPrng(seed)
  const queue = await temporaryDirectory('crashes')
  await makeMaildrop(queue)
  const dropped: MessageId[] = []
  let mixedCount = 0
  for (let life = 0; life < 8; life++) {
    for (let i = below(prng, 30); i > 0; i--) {
      const isMixed = below(prng, 3) === 0
      if (isMixed) mixedCount++
      dropped.push(
        await dropMail(queue, {
          sender: 'a@example.org',
          recipients: isMixed ? [refusedAddress, 'b@example.net'] : ['b@example.net'],
          dsn: {},
          data: Buffer.from(`message ${dropped.length}\r\n`),
        }),
      )
    }
    await liveAndDie(queue, prng, life === 7)
  }
  const last = await open(queue)
  const listed: string[] = []
  let reportCount = 0
  for await (const { id, sender } of last.list())
    if (sender === '') reportCount++
    else listed.push(id)
  last.crash()
  expect(listed.sort()).toEqual(dropped.sort())
  expect(reportCount).toBe(mixedCount)
  expect([await readdir(join(queue, 'maildrop')), await readdir(join(queue, 'taken'))]).toEqual([[], []])
})
