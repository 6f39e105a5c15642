/** Which directories a Maildir delivery makes durable, and how many syncs go on at once. */
import { mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { maildirTransport } from '../../../src/relay/maildir/maildir.js'
import { threadCountOf } from '../../../src/relay/maildir/sync-turns.js'
import { deliver } from '../request.js'

const synced: string[] = []
let underWayCount = 0
let underWayMost = 0

async function counted(sync: () => Promise<void>): Promise<void> {
  underWayMost = Math.max(underWayMost, ++underWayCount)
  await sync().finally(() => underWayCount--)
}

vi.mock('node:fs/promises', async (importOriginal) => {
  const real = await importOriginal<typeof import('node:fs/promises')>()
  return {
    ...real,
    open: async (...call: Parameters<typeof real.open>) => {
      const handle = await real.open(...call)
      const sync = handle.sync.bind(handle)
      const datasync = handle.datasync.bind(handle)
      handle.sync = async () => {
        await counted(sync)
        synced.push(String(call[0]))
      }
      handle.datasync = () => counted(datasync)
      return handle
    },
  }
})

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'waybill-maildir-syncs-'))
  synced.length = 0
  underWayMost = 0
})
afterEach(() => rm(directory, { recursive: true, force: true }))

const open = () => maildirTransport({ directory, hostname: 'mx.example.net' })

test('a message is delivered when its name in `new` is durable', async () => {
  await deliver(open())
  expect(synced.at(-1)).toBe(join(directory, 'one@example.net', 'new'))
})

test('a message that a reader has taken is delivered when its name in `cur` is durable', async () => {
  const mailbox = join(directory, 'one@example.net')
  await deliver(open())
  const [name = ''] = await readdir(join(mailbox, 'new'))
  await rename(join(mailbox, 'new', name), join(mailbox, 'cur', `${name}:2,S`))
  synced.length = 0
  await expect(deliver(open(), { attempts: 1 })).resolves.toMatchObject([{ kind: 'delivered' }])
  expect(synced.at(-1)).toBe(join(mailbox, 'cur'))
})

test('many deliveries have no more syncs under way than Node has threads for them', async () => {
  const transport = open()
  await Promise.all(
    Array.from({ length: 16 }, (_, n) => deliver(transport, { recipients: [`r${n}@example.net`] })),
  )
  expect(underWayMost).toBeGreaterThan(1)
  expect(underWayMost).toBeLessThanOrEqual(threadCountOf(process.env['UV_THREADPOOL_SIZE']))
})
