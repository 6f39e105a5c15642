/** What belongs to a message is free when the message has ended: no table or list keeps it until
 * the next full collection (src/base/linked-list.ts). */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getHeapSpaceStatistics } from 'node:v8'
import { expect, onTestFinished, test } from 'vitest'
import { openQueue, type Submission } from '../../src/index.js'
import { laySmallQueue } from '../end-to-end/laid-queue.js'
import { collectGarbage } from '../held-bytes.js'

const submitterCount = 10
const domainCount = 500
const messageCount = 10_000
const data = 'Subject: a\r\n\r\na\r\n'

/** Of objects that were promoted, those that are garbage by now too. */
const oldBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space')!.space_used_size

const recipientOf = (i: number): string => `recipient@domain${i % domainCount}.example.net`

/** What differs from a plain message. @param i its number */
const kinds: Readonly<Record<string, (i: number) => Partial<Submission>>> = {
  'a plain one': () => ({}),
  'one to ten domains': (i) => ({ recipients: Array.from({ length: 10 }, (_, j) => recipientOf(i + j)) }),
  'one that expires': () => ({ expiresAt: Date.now() + 3_600_000 }),
}

test.each(Object.entries(kinds))(
  'of %s almost nothing outlives two collections of young objects',
  async (_kind, varied) => {
    const directory = mkdtempSync(join(tmpdir(), 'waybill-short-'))
    onTestFinished(() => rmSync(directory, { recursive: true }))
    const path = join(directory, 'queue')
    laySmallQueue(path)
    const ends = new Ends()
    const queue = await openQueue(path, {
      transports: {
        later: {
          deliver: async (request) => {
            await request.data()
            await new Promise((resolve) => setImmediate(resolve))
            ends.delivered(Number.parseInt(request.sender, 10), request.recipients.length)
            return { kind: 'delivered' }
          },
        },
      },
      route: (recipient) => ({ transport: 'later', nexthop: recipient.slice(recipient.indexOf('@') + 1) }),
    })
    onTestFinished(() => queue.crash())
    const load = async (): Promise<void> => {
      let next = 0
      const submit = async (): Promise<void> => {
        while (next < messageCount) {
          const i = next++
          const submission = { sender: `${i}@example.org`, recipients: [recipientOf(i)], data, ...varied(i) }
          const end = ends.of(i, submission.recipients.length)
          await queue.submit(submission)
          await end
        }
      }
      await Promise.all(Array.from({ length: submitterCount }, submit))
      await queue.idle()
    }
    await load()
    // In a full collection all young objects become old, and old tables begin to keep new ones.
    collectGarbage()
    const before = oldBytes()
    await load()
    expect((oldBytes() - before) / messageCount).toBeLessThan(300)
  },
)

/** Tells submitters when their messages have been delivered, so that there is no backlog. */
class Ends {
  readonly #left = new Int32Array(messageCount)
  readonly #resolves: ((() => void) | undefined)[] = Array.from({ length: messageCount })

  /** @param i number of the message */
  of(i: number, recipientCount: number): Promise<void> {
    this.#left[i] = recipientCount
    return new Promise((resolve) => (this.#resolves[i] = resolve))
  }

  delivered(i: number, recipientCount: number): void {
    this.#left[i]! -= recipientCount
    if (this.#left[i] !== 0) return
    this.#resolves[i]!()
    this.#resolves[i] = undefined
  }
}
