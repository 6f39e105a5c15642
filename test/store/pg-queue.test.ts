/** Queues on a real PostgreSQL server: opened by their URL, read by anybody, adopted and given
 * back. */
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { fixedRetry, openQueue, type Queue, type QueueOptions } from '../../src/index.js'
import { initStore, pgStore, removeQueue, storeDisk, storeStatus } from '../../src/store/open-store.js'
import { storePlaceOf } from '../../src/store/store-url.js'
import { postgresMissing, Servers } from '../../tools/crash-store/servers.js'
import { Adoption } from '../../tools/commands/store/adoption.js'
import { storeRemove } from '../../tools/commands/store/store-remove.js'
import { mailq } from '../../tools/commands/look/mailq.js'
import { parseArguments } from '../../tools/commands/cli/command.js'
import { openQueueDisk } from '../../tools/commands/cli/queue-disk.js'
import { command } from '../inspect/commanded.js'

const missing = postgresMissing()
const reason = missing === undefined ? '' : `: ${missing}`

/** Delivers to a list, or defers. */
const delivering = (delivered: string[], isReady: () => boolean): QueueOptions => ({
  transports: {
    list: {
      deliver: ({ recipients }) => {
        if (!isReady()) return { kind: 'deferred', status: '4.0.0', reason: 'not yet' }
        delivered.push(...recipients)
        return { kind: 'delivered' }
      },
    },
  },
  route: () => ({ transport: 'list', nexthop: 'list' }),
  retry: fixedRetry([100]),
})

const message = (recipient: string): Parameters<Queue['submit']>[0] => ({
  sender: 'a@example.org',
  recipients: [recipient],
  data: 'Subject: 1\r\n\r\nhello\r\n',
})

describe.skipIf(missing !== undefined)(`queues in a store${reason}`, () => {
  let servers: Servers | undefined
  const urlOf = (queue: string): string => `${servers!.url}?safety=assumed&ttl=400ms&queue=${queue}`
  const made = async (queue: string): Promise<string> => {
    await initStore(storePlaceOf(urlOf(queue)), { name: queue, quotaBytes: undefined }, systemClock)
    return urlOf(queue)
  }

  beforeAll(async () => {
    servers = await Servers.start(0)
  })
  afterAll(() => servers?.remove())

  test('a store of a later version is not used, and the error says what to do', async () => {
    const url = await made('later')
    const [primary] = servers!.servers
    await servers!.ask(primary!, 'UPDATE waybill.schema SET version = 2')
    const later = {
      code: 'NOT_A_QUEUE',
      message: expect.stringContaining('version 2, this program knows 1: update Waybill') as string,
    }
    const opened = openQueue(
      url,
      delivering([], () => false),
    )
    await expect(opened).rejects.toMatchObject(later)
    await expect(made('later')).rejects.toMatchObject(later)
    await servers!.ask(primary!, 'UPDATE waybill.schema SET version = 1')
  })

  test('a store that went back ends the life; what is accepted afterwards is kept', async () => {
    const url = await made('back')
    // The last row that is written is that of a message, and not of a checkpoint.
    const options = { ...delivering([], () => false), deliver: false, checkpointIntervalMs: 60_000 }
    const open = (): Promise<Queue> => openQueue(url, options)
    const first = await open()
    const ended = new Promise<unknown>((resolve) => first.on('crashed', ({ error }) => resolve(error)))
    // Its first checkpoint is there.
    await expect.poll(() => first.stats().recovering).toBe(false)
    await first.submit(message('kept@example.org'))
    await first.submit(message('lost@example.org'))
    const [primary] = servers!.servers
    const table = await servers!.ask(
      primary!,
      "SELECT 'waybill.s' || file FROM waybill.file JOIN waybill.queue q USING (queue) WHERE q.name = 'back' AND parent = 'journal'" +
        ' AND has_table ORDER BY waybill.file.name LIMIT 1',
    )
    // As a standby would lack it that was promoted too early.
    await servers!.ask(
      primary!,
      `DELETE FROM ${table} WHERE at = (SELECT max(at) FROM ${table});` +
        " SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name LIKE 'waybill %'",
    )
    expect(await ended).toMatchObject({ code: 'STORE_BEHIND' })
    const second = await open()
    await second.submit(message('later@example.org'))
    second.crash()
    const third = await open()
    const recipients: string[] = []
    for await (const { recipients: some } of third.list()) recipients.push(...some.map(String))
    third.crash()
    expect(recipients.length).toBe(2)
  })

  test('openQueue takes a URL; what it accepted is there for the next life', async () => {
    const url = await made('mx1')
    const delivered: string[] = []
    const first = await openQueue(
      url,
      delivering(delivered, () => false),
    )
    await first.submit(message('b@example.net'))
    first.crash()
    await using second = await openQueue(
      url,
      delivering(delivered, () => true),
    )
    await expect.poll(() => delivered).toEqual(['b@example.net'])
    expect(second.lockKind).toBe('epoch 2 of queue mx1, by node mx1')
  })

  test('what a DBA sets for a role does not reach a life, which keeps its connections', async () => {
    const [primary] = servers!.servers
    const settings = [
      'statement_timeout = 1',
      'lock_timeout = 1',
      'idle_in_transaction_session_timeout = 1',
      'idle_session_timeout = 1',
      'default_transaction_read_only = on',
      'default_transaction_isolation = serializable',
      'synchronous_commit = off',
      'bytea_output = escape',
      'search_path = nowhere',
    ]
    const altered = settings.map((setting) => `ALTER ROLE strict SET ${setting}`)
    await servers!.ask(primary!, ['CREATE ROLE strict SUPERUSER LOGIN', ...altered].join('; '))
    const url = (await made('strict')).replace('postgres@', 'strict@')
    const disk = storeDisk({ url })
    const delivered: string[] = []
    await using queue = await openQueue('strict', { ...delivering(delivered, () => true), disk })
    await queue.submit(message('a@example.net'))
    await queue.idle()
    expect(delivered).toEqual(['a@example.net'])
    expect(disk.statistics).toMatchObject({ epoch: 1, resumeCount: 0 })
  })

  test('a store that several make at once is made once', async () => {
    const [primary] = servers!.servers
    await servers!.ask(primary!, 'CREATE DATABASE fresh')
    const place = storePlaceOf(urlOf('made').replace('/postgres?', '/fresh?'))
    const makes = ['a', 'b', 'c'].map((name) =>
      initStore(place, { name, quotaBytes: undefined }, systemClock),
    )
    const made = await Promise.all(makes)
    expect(made.filter(({ schema }) => schema)).toHaveLength(1)
    expect(made.filter(({ queue }) => queue)).toHaveLength(3)
  })

  test('a copy of the store in another database leaves the connections of its owners alone', async () => {
    const [primary] = servers!.servers
    await servers!.ask(primary!, 'CREATE DATABASE copied')
    const copyUrl = urlOf('original').replace('/postgres?', '/copied?')
    await initStore(storePlaceOf(copyUrl), { name: 'original', quotaBytes: undefined }, systemClock)
    const events: string[] = []
    const disk = storeDisk({ url: await made('original'), onEvent: ({ kind }) => events.push(kind) })
    await disk.claim()
    const { nonce } = disk.life!
    const connected = await pgStore(copyUrl).connect(undefined)
    const session = (connected as Extract<typeof connected, { kind: 'done' }>).value
    // The copy has the owner that the store had when it was copied.
    await session.claim({ queue: 1, epoch: 0 }, { nonce, node: 'original' }, true)
    expect(await session.standing(1)).toMatchObject({ value: { nonce, isConnected: false } })
    await session.expel(nonce)
    session.close()
    await disk.makeDirectory('lanes')
    disk.abandon()
    expect(events).toEqual([])
  })

  test('a second process of the same name is told who has the queue', async () => {
    const url = await made('mx2')
    await using queue = await openQueue(
      url,
      delivering([], () => true),
    )
    await expect(
      openQueue(
        url,
        delivering([], () => true),
      ),
    ).rejects.toMatchObject({ code: 'QUEUE_LOCKED' })
    expect(queue.isCrashed).toBe(false)
  })

  test('a store that waits for no standby is refused, unless that is assumed', async () => {
    const url = (await made('mx3')).replace('safety=assumed', 'safety=required')
    await expect(
      openQueue(
        url,
        delivering([], () => true),
      ),
    ).rejects.toMatchObject({
      code: 'STORE_UNSAFE',
      message: expect.stringContaining('synchronous_standby_names is empty') as string,
    })
  })

  test('a queue that is not there, and a store that is not, are told apart', async () => {
    await made('mx3')
    await expect(
      openQueue(
        urlOf('none'),
        delivering([], () => true),
      ),
    ).rejects.toMatchObject({
      code: 'NOT_A_QUEUE',
    })
    const away = 'postgres://postgres@127.0.0.1:1/postgres?queue=mx1&resume=0s'
    await expect(
      openQueue(
        away,
        delivering([], () => true),
      ),
    ).rejects.toMatchObject({
      code: 'STORE_UNREACHABLE',
    })
  })

  test('anybody lists a queue by its URL, beside its owner', async () => {
    const url = await made('mx4')
    await using queue = await openQueue(
      url,
      delivering([], () => false),
    )
    const { id } = await queue.submit(message('c@example.net'))
    const { exitCode, stdout } = await command(mailq, ['--queue', url], openQueueDisk, Date.now())
    expect(exitCode).toBe(0)
    expect(stdout).toContain(id)
    const status = await storeStatus(pgStore(servers!.url), systemClock, 300)
    expect(status.queues.find(({ name }) => name === 'mx4')).toMatchObject({ owner: 'mx4', state: 'beats' })
  })

  test('the queue of a node that is gone is adopted, and given back when it returns', async () => {
    const url = await made('mx5')
    const delivered: string[] = []
    const gone = await openQueue(
      url,
      delivering([], () => false),
    )
    await gone.submit(message('d@example.net'))
    gone.crash()
    const adopted: Queue[] = []
    const adoption = new Adoption({
      url: urlOf('mx1'),
      queue: 'mx1',
      node: 'mx1',
      ttlMs: 400,
      options: delivering(delivered, () => true),
      log: pino({ level: 'silent' }),
      onAdopted: (queue) => adopted.push(queue),
    })
    void adoption.run()
    const ofMx5 = (): Queue | undefined => adopted.find(({ lockKind }) => lockKind?.includes('mx5'))
    await expect.poll(() => delivered).toContain('d@example.net')
    const disk = storeDisk({ url })
    await using back = await openQueue('mx5', { ...delivering(delivered, () => true), disk })
    await expect.poll(() => ofMx5()?.isCrashed).toBe(true)
    expect(back.isCrashed).toBe(false)
    adoption.stop()
    for (const queue of adopted) if (!queue.isCrashed) queue.crash()
  })

  const remove = (queue: string, ...words: string[]): Promise<number | undefined> => {
    const url = `${servers!.url}?safety=assumed&ttl=400ms`
    return storeRemove.run(parseArguments(storeRemove, ['--store', url, '--queue', queue, ...words]))
  }
  const isThere = async (queue: string): Promise<boolean> => {
    const { queues } = await storeStatus(pgStore(servers!.url), systemClock, 1)
    return queues.some(({ name }) => name === queue)
  }
  /** Tables of segments that no file has: queues of other tests, which live on, make new ones. */
  const tablesOfNobody = (): Promise<string> =>
    servers!.ask(
      servers!.servers[0]!,
      `SELECT count(*) FROM pg_tables WHERE schemaname = 'waybill' AND tablename ~ '^s[0-9]+$'
        AND substr(tablename, 2)::bigint NOT IN (SELECT file FROM waybill.file)`,
    )

  test('a queue is removed when it is empty, nobody runs it, and its removal was confirmed', async () => {
    const url = await made('mx6')
    const delivered: string[] = []
    let isReady = false
    const queue = await openQueue(
      url,
      delivering(delivered, () => isReady),
    )
    await queue.submit(message('e@example.net'))
    await expect(remove('mx6', '--yes')).rejects.toMatchObject({ code: 'OPTION_INVALID' })
    isReady = true
    await expect.poll(() => delivered).toEqual(['e@example.net'])
    const left = async (): Promise<number> => {
      let count = 0
      for await (const _ of queue.list({})) count++
      return count
    }
    await expect.poll(left).toBe(0)
    await expect(remove('mx6', '--yes')).rejects.toMatchObject({ code: 'QUEUE_LOCKED' })
    expect(queue.isCrashed).toBe(false)
    queue.crash()
    expect(await remove('mx6')).toBe(0)
    expect(await isThere('mx6')).toBe(true)
    expect(await remove('mx6', '--yes')).toBe(0)
    expect(await isThere('mx6')).toBe(false)
    expect(await tablesOfNobody()).toBe('0')
    await expect(remove('mx6', '--yes')).rejects.toMatchObject({ code: 'NOT_A_QUEUE' })
  })

  test('an empty queue is taken from the node that has adopted it, and removed', async () => {
    const url = await made('mx7')
    const home = await openQueue(
      url,
      delivering([], () => true),
    )
    home.crash()
    const disk = storeDisk({ url: `${url}&node=other`, role: 'adopter' })
    const adopted = await openQueue('mx7', { ...delivering([], () => true), disk })
    adopted.on('crashed', () => undefined)
    expect(await remove('mx7', '--yes')).toBe(0)
    await expect.poll(() => adopted.isCrashed).toBe(true)
    expect(await isThere('mx7')).toBe(false)
  })

  test('a queue that was claimed after it was seen to be empty is not removed', async () => {
    const url = await made('mx8')
    const disk = storeDisk({ url })
    const first = await openQueue('mx8', { ...delivering([], () => true), disk })
    const life = disk.life!
    first.crash()
    await using second = await openQueue(
      url,
      delivering([], () => false),
    )
    await second.submit(message('f@example.net'))
    await expect(removeQueue(storePlaceOf(url), life, systemClock)).rejects.toMatchObject({
      code: 'QUEUE_LOST',
    })
    expect(await isThere('mx8')).toBe(true)
    expect(second.isCrashed).toBe(false)
  })
})
