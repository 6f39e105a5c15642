/** The contract of a disk on a real PostgreSQL server, and what only a real one shows. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { initStore } from '../../src/store/postgres/init-store.js'
import { PgConnection } from '../../src/store/postgres/pg-connection.js'
import { PgStore } from '../../src/store/postgres/pg-store.js'
import { StoreDisk } from '../../src/store/store-disk.js'
import { storePlaceOf } from '../../src/store/store-url.js'
import { postgresMissing, Servers } from '../../tools/crash-store/servers.js'
import { diskContract } from '../disk/contract.js'

const missing = postgresMissing()

describe.skipIf(missing !== undefined)(
  `a store on PostgreSQL${missing === undefined ? '' : `: ${missing}`}`,
  () => {
    let servers: Servers | undefined
    let queueCount = 0

    beforeAll(async () => {
      servers = await Servers.start(0)
    })
    afterAll(() => servers?.remove())

    diskContract('a store', async () => {
      const place = storePlaceOf(`${servers!.url}?safety=assumed`)
      const queue = `q${++queueCount}`
      await initStore(place, { name: queue, quotaBytes: undefined }, systemClock)
      let nodeCount = 0
      const opened: StoreDisk[] = []
      const open = (): StoreDisk => {
        const disk = new StoreDisk({
          store: new PgStore(place, systemClock),
          queue,
          node: `n${++nodeCount}`,
          role: 'adopter',
          safety: 'assumed',
          ttlMs: 400,
          resumeMs: 5000,
        })
        opened.push(disk)
        return disk
      }
      const disk = open()
      await disk.claim()
      return {
        disk,
        reopen: open,
        settle: (promise) => promise,
        remove: async () => {
          for (const each of opened) each.abandon()
        },
      }
    })

    /** An owner with the times of a real one. */
    async function owner(): Promise<{ disk: StoreDisk; queue: string; events: string[] }> {
      const place = storePlaceOf(`${servers!.url}?safety=assumed`)
      const queue = `q${++queueCount}`
      await initStore(place, { name: queue, quotaBytes: undefined }, systemClock)
      const events: string[] = []
      const { ttlMs, resumeMs } = place
      const disk = new StoreDisk({
        store: new PgStore(place, systemClock),
        queue,
        node: queue,
        role: 'home',
        safety: 'assumed',
        ttlMs,
        resumeMs,
        onEvent: ({ kind }) => events.push(kind),
      })
      onTestFinished(() => disk.abandon())
      await disk.claim()
      await disk.makeDirectory('journal')
      return { disk, queue, events }
    }

    test('a backup that holds all tables keeps the owner of a queue from nothing', async () => {
      const { disk, queue, events } = await owner()
      const beat = async (): Promise<number> => {
        const text = `SELECT beat FROM waybill.beat JOIN waybill.queue USING (queue) WHERE name = '${queue}'`
        return Number(await servers!.ask(servers!.servers[0]!, text))
      }
      const names = Array.from({ length: 40 }, (_, i) => `journal/${i}`)
      for (const name of names) await (await disk.open(name, 'create')).close()
      const [url = ''] = storePlaceOf(servers!.url).urls
      const backup = await PgConnection.open({ url, tag: 'backup', deadlineMs: 5000, clock: systemClock })
      const tables = await servers!.ask(
        servers!.servers[0]!,
        "SELECT string_agg('waybill.' || tablename, ', ') FROM pg_tables WHERE tablename ~ '^s[0-9]+$'",
      )
      for (const text of ['BEGIN', `LOCK TABLE ${tables} IN ACCESS SHARE MODE`])
        expect((await backup.ask({ text })).kind).toBe('done')
      await Promise.all(names.map((name) => disk.unlink(name)))
      const before = await beat()
      await expect.poll(beat).toBeGreaterThan(before + 3)
      expect(disk.statistics.reapWaiting).toBe(40)
      expect(events).toEqual([])
      backup.close()
      await expect.poll(() => disk.statistics.reapWaiting).toBe(0)
      expect(events).toEqual([])
    })

    test('an owner whose file the next one has removed is told that its queue is lost', async () => {
      const { disk, queue } = await owner()
      const file = await disk.open('journal/1', 'create')
      const lose = `DO $$ DECLARE f bigint; BEGIN
        UPDATE waybill.fence SET epoch = epoch + 1, nonce = 'next' FROM waybill.queue
          WHERE queue.queue = fence.queue AND name = '${queue}';
        SELECT file FROM waybill.file JOIN waybill.queue USING (queue)
          WHERE queue.name = '${queue}' AND file.name = '1' INTO f;
        EXECUTE format('DROP TABLE waybill.s%s', f); END $$`
      await servers!.ask(servers!.servers[0]!, lose)
      await expect(file.write(Buffer.from('late'), 0)).rejects.toMatchObject({ code: 'QUEUE_LOST' })
    })

    test('what is used is counted as long as it is there, unlinked or not', async () => {
      const { disk, queue } = await owner()
      await disk.makeDirectory('spool')
      const file = await disk.open('spool/1', 'create')
      await file.write(Buffer.alloc(100_000, 1), 0)
      const segment = await disk.open('journal/1', 'create')
      await segment.write(Buffer.alloc(50_000, 1), 0)
      await disk.unlink('spool/1')
      const counted = `SELECT waybill.used_bytes(queue) FROM waybill.queue WHERE name = '${queue}'`
      await disk.space()
      expect(disk.statistics.usedBytes).toBeGreaterThan(150_000)
      expect(String(disk.statistics.usedBytes)).toBe(await servers!.ask(servers!.servers[0]!, counted))
    })
  },
)
