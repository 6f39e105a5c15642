/** Which messages a relay was taking up from maildrop when it ended, and has in its log. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { newMessageId, openQueue } from '../../../src/index.js'
import { makeMaildrop } from '../../../src/relay/maildrop/maildrop-file.js'
import { knownOfMaildrop } from '../../../tools/commands/serve/maildrop.js'

test('of files that were being taken up those are known whose message was durable, finished or not', async () => {
  const queue = await mkdtemp(join(tmpdir(), 'waybill-known-'))
  onTestFinished(() => rm(queue, { recursive: true, force: true }))
  await makeMaildrop(queue)
  const [waiting, finished, lost, untouched] = Array.from({ length: 4 }, newMessageId)
  const opened = await openQueue(queue, {
    segmentBytes: 2 ** 20,
    laneSegmentBytes: 2 ** 20,
    transports: {
      it: {
        deliver: ({ recipients }) =>
          recipients[0] === 'done@example.net' ? { kind: 'delivered' } : new Promise<never>(() => undefined),
      },
    },
    route: () => ({ transport: 'it', nexthop: 'n' }),
  })
  const ended = new Promise((resolve) => opened.once('finished', resolve))
  const submit = (id: string, recipient: string): Promise<unknown> =>
    opened.submit({ sender: 'a@example.org', recipients: [recipient], data: 'x', id })
  await submit(finished!, 'done@example.net')
  await submit(waiting!, 'b@example.net')
  await ended
  opened.crash()
  const hex = 'a'.repeat(32)
  for (const id of [waiting, finished, lost])
    await writeFile(join(queue, 'maildrop', `${id}.${hex}.taking`), '')
  await writeFile(join(queue, 'maildrop', `${untouched}.${hex}.mail`), '')
  expect(await knownOfMaildrop(queue)).toEqual(new Set([waiting, finished]))
})
