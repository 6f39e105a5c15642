/** Of the files that a relay was taking up when it ended, the next life removes those whose
 * messages it has. */
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { newMessageId, openQueue, type Queue } from '../../../src/index.js'
import { makeMaildrop } from '../../../src/relay/maildrop/maildrop-file.js'
import { temporaryDirectory } from '../../temporary-directory.js'

test('a start removes files whose message is durable, waiting or finished; another file stays', async () => {
  const queue = await temporaryDirectory('known')
  await makeMaildrop(queue)
  const [waiting, finished, lost] = Array.from({ length: 3 }, newMessageId)
  const open = (): Promise<Queue> =>
    openQueue(queue, {
      segmentBytes: 2 ** 20,
      laneSegmentBytes: 2 ** 20,
      transports: {
        it: {
          deliver: ({ recipients }) =>
            recipients[0] === 'done@example.net'
              ? { kind: 'delivered' }
              : new Promise<never>(() => undefined),
        },
      },
      route: () => ({ transport: 'it', nexthop: 'n' }),
    })
  const first = await open()
  const ended = new Promise((resolve) => first.once('finished', resolve))
  const submit = (id: string, recipient: string): Promise<unknown> =>
    first.submit({ sender: 'a@example.org', recipients: [recipient], data: 'x', id })
  await submit(finished!, 'done@example.net')
  await submit(waiting!, 'b@example.net')
  await ended
  first.crash()
  const nameOf = (id: string): string => `${id}.${'a'.repeat(32)}.mail`
  for (const id of [waiting!, finished!, lost!]) await writeFile(join(queue, 'taken', nameOf(id)), '')
  const second = await open()
  second.crash()
  expect(await readdir(join(queue, 'taken'))).toEqual([nameOf(lost!)])
})

test('while another process has the queue no file is looked at', async () => {
  const queue = await temporaryDirectory('known')
  await makeMaildrop(queue)
  const options = { transports: {}, route: () => ({ transport: 'none', nexthop: 'none' }), deliver: false }
  const first = await openQueue(queue, options)
  const waiting = openQueue(queue, { ...options, lockWaitMs: 10_000 })
  await setTimeout(300)
  const id = newMessageId()
  await first.submit({ sender: 'a@example.org', recipients: ['b@example.net'], data: 'x', id })
  await writeFile(join(queue, 'taken', `${id}.${'a'.repeat(32)}.mail`), '')
  first.crash()
  const second = await waiting
  second.crash()
  expect(await readdir(join(queue, 'taken'))).toEqual([])
})
