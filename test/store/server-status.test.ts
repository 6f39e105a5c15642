/** What `waybill store status` says of the servers of a store, asked of two real ones. */
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { loadPg, serverStatus, type ServerStatus } from '../../src/store/open-store.js'
import { storePlaceOf } from '../../src/store/store-url.js'
import { textOf } from '../../tools/commands/store/store-status.js'
import { postgresMissing, Servers } from '../../tools/crash-store/servers.js'

const missing = postgresMissing()

describe.skipIf(missing !== undefined)(
  `servers of a store${missing === undefined ? '' : `: ${missing}`}`,
  () => {
    let servers: Servers | undefined
    const lookedAt = (url: string): Promise<ServerStatus[]> => serverStatus(storePlaceOf(url), systemClock)
    const looked = (): Promise<ServerStatus[]> => lookedAt(servers!.url)

    beforeAll(async () => {
      servers = await Servers.start(1)
    })
    afterAll(() => servers?.remove())

    test('the primary has its standbys, with how they are waited for and what they lack', async () => {
      const [n1, n2] = servers!.servers.map(({ port }) => `127.0.0.1:${port}`)
      const follower = {
        name: 'n2',
        address: '127.0.0.1',
        sync: 'quorum',
        state: 'streaming',
        behindBytes: expect.any(Number) as number,
      }
      await expect
        .poll(() => looked())
        .toEqual([
          { server: n1, role: 'primary', reason: undefined, unsafe: [], followers: [follower] },
          { server: n2, role: 'standby', reason: undefined, unsafe: [], followers: [] },
        ])
    })

    test('a standby that lags is behind by what is not on its disk', async () => {
      const [primary, standby] = servers!.servers
      const primaryUrl = `postgres://postgres@127.0.0.1:${primary!.port}/postgres`
      servers!.signal(standby!, 'SIGSTOP')
      try {
        const text =
          "SET synchronous_commit = off; SELECT pg_logical_emit_message(true, '', repeat('x', 100000))"
        await servers!.ask(primary!, text)
        const behindBytes = async (): Promise<number | undefined> =>
          (await lookedAt(primaryUrl))[0]?.followers[0]?.behindBytes
        await expect.poll(behindBytes).toBeGreaterThan(99_999)
      } finally {
        servers!.signal(standby!, 'SIGCONT')
      }
    })

    test('a follower that has not said what is on its disk is not level with the primary', async () => {
      const { Client } = await loadPg()
      const { port } = servers!.servers[0]!
      // As `pg_basebackup` and a standby that has just come.
      const follower = new Client(
        `postgres://postgres@127.0.0.1:${port}/postgres?replication=true&application_name=backup`,
      )
      await follower.connect()
      try {
        const [primary] = await looked()
        expect(primary!.followers).toContainEqual(
          expect.objectContaining({ name: 'backup', state: 'startup', behindBytes: undefined }),
        )
      } finally {
        await follower.end()
      }
    })

    test('a role without pg_monitor sees the servers, and not who follows them', async () => {
      await servers!.ask(servers!.servers[0]!, 'CREATE ROLE plain LOGIN')
      const plain = async (): Promise<unknown[]> => {
        const found = await lookedAt(servers!.url.replace('postgres@', 'plain@'))
        return found.map(({ role, followers }) => [role, followers])
      }
      // The standby knows the role when it has replayed its making.
      await expect.poll(plain).toEqual([
        ['primary', []],
        ['standby', []],
      ])
    })

    test('a standby whose disk is not waited for is named, and one that is away, with its reason', async () => {
      const [, standby] = servers!.servers
      await appendFile(join(standby!.directory, 'postgresql.auto.conf'), 'fsync = off\n')
      await servers!.reload(standby!)
      await expect
        .poll(async () => (await looked())[1])
        .toMatchObject({ role: 'standby', unsafe: ['fsync is not on'] })
      await servers!.kill(standby!)
      expect((await looked())[1]).toMatchObject({
        role: undefined,
        reason: expect.stringContaining('ECONNREFUSED') as string,
      })
    })
  },
)

test('the words of a server end no line of the text, and hide none', () => {
  const store = { store: 'db', timeline: 3, standbyCount: 1, unsafe: [], queues: [] }
  const reason = 'the store refused: no\x1b[2J\nn1  primary  -'
  const text = textOf(store, [{ server: 'n1', role: undefined, reason, unsafe: [], followers: [] }])
  expect(text.split('\n')).toContain('n1      away  the store refused: no?[2J?n1  primary  -')
})

test('the text has a line for each server and standby, and its problem', () => {
  const store = { store: 'db', timeline: 3, standbyCount: 1, unsafe: [], queues: [] }
  const follower = { name: 'n2', address: '192.0.2.2', sync: 'quorum', state: 'streaming', behindBytes: 2048 }
  const quiet = { reason: undefined, unsafe: [], followers: [] }
  const text = textOf(store, [
    { ...quiet, server: 'n1', role: 'primary', followers: [follower] },
    { ...quiet, server: 'n2', role: 'standby', unsafe: ['fsync is not on'] },
    { ...quiet, server: 'n3', role: undefined, reason: 'connect ECONNREFUSED' },
  ])
  expect(text.split('\n')).toEqual([
    'db, timeline 3, 1 synchronous standby',
    'commits are on two machines',
    '',
    'server  is       problem',
    'n1      primary  -',
    'n2      standby  UNSAFE: fsync is not on',
    'n3      away     connect ECONNREFUSED',
    '',
    'standby          follows  sync    state      behind',
    'n2 at 192.0.2.2  n1       quorum  streaming  2.0 KiB',
    '',
    'no queue',
  ])
})
