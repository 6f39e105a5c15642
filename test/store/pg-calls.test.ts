/** Verbs and listings reach the owner of a queue through a real PostgreSQL server. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { ControlClient } from '../../src/control/client.js'
import { callOwner } from '../../src/control/store-client.js'
import { serveStoreControl } from '../../src/control/store-server.js'
import { fixedRetry, openQueue, type Queue, type QueueOptions } from '../../src/index.js'
import type { CallStore } from '../../src/store/calls.js'
import { initStore, pgStore, storeDisk } from '../../src/store/open-store.js'
import { storePlaceOf } from '../../src/store/store-url.js'
import { postgresMissing, Servers } from '../../tools/crash-store/servers.js'
import { openQueueDisk } from '../../tools/commands/cli/queue-disk.js'
import { hold } from '../../tools/commands/operate/hold.js'
import { release } from '../../tools/commands/operate/release.js'
import { reload } from '../../tools/commands/operate/reload.js'
import type { OperatingCommand } from '../../tools/commands/operate/operating-command.js'
import { BreakingStore, type Break } from '../control/breaking-calls.js'
import { command } from '../inspect/commanded.js'

const missing = postgresMissing()

const deferring: QueueOptions = {
  transports: { list: { deliver: () => ({ kind: 'deferred', status: '4.0.0', reason: 'not yet' }) } },
  route: () => ({ transport: 'list', nexthop: 'list' }),
  retry: fixedRetry([3_600_000]),
}

const codeOf = (error: unknown): unknown => (error as { readonly code?: unknown }).code

const whereOf = async (queue: Queue): Promise<string[]> => {
  const places: string[] = []
  for await (const { where } of queue.list({})) places.push(where)
  return places
}

describe.skipIf(missing !== undefined)(
  `calls in a store${missing === undefined ? '' : `: ${missing}`}`,
  () => {
    let servers: Servers | undefined
    const urlOf = (queue: string): string => `${servers!.url}?safety=assumed&ttl=400ms&queue=${queue}`

    beforeAll(async () => {
      servers = await Servers.start(0)
    })
    afterAll(() => servers?.remove())

    /** A queue that answers calls, and a message in it. */
    async function owned(
      name: string,
      through: (store: CallStore) => CallStore = (store) => store,
    ): Promise<{ url: string; queue: Queue; id: string }> {
      const url = urlOf(name)
      await initStore(storePlaceOf(url), { name, quotaBytes: undefined }, systemClock)
      const disk = storeDisk({ url })
      const queue = await openQueue(name, { ...deferring, disk })
      onTestFinished(() => queue.crash())
      const server = serveStoreControl(queue, through(disk.calls!), () => disk.life)
      queue.on('crashed', () => server.close())
      const { id } = await queue.submit({ sender: 'a@b.example', recipients: ['c@d.example'], data: 'x\r\n' })
      return { url, queue, id }
    }

    async function run(called: OperatingCommand, words: readonly string[]): Promise<[number, string]> {
      const { signal } = new AbortController()
      const { exitCode, stdout, stderr } = await command(called, words, openQueueDisk, Date.now(), signal)
      return [exitCode, stdout + stderr]
    }

    test('the owner holds and releases what a command on another machine names', async () => {
      const { url, queue, id } = await owned('mx1')
      expect(await run(hold, ['--queue', url, id])).toEqual([0, expect.stringContaining(`${id} held`)])
      expect(queue.isCrashed).toBe(false)
      expect(await whereOf(queue)).toEqual(['hold'])
      expect(await run(release, ['--queue', url, id])).toMatchObject([0, expect.any(String)])
    })

    test('a request that the relay refuses comes back with its code', async () => {
      const { url } = await owned('mx2')
      const [exitCode, text] = await run(reload, ['--queue', url])
      expect([exitCode, text]).toEqual([0, 'the relay was given no files\n'])
      const client = await ControlClient.connect(url)
      await expect(client!.verb({ do: 'hold', selector: {} })).rejects.toMatchObject({
        code: 'OPTION_INVALID',
      })
      client!.close()
    })

    test('a long listing arrives whole', async () => {
      const { url, queue } = await owned('mx3')
      const submitted = Array.from({ length: 3000 }, (_, i) =>
        queue.submit({ sender: `${i}@b.example`, recipients: ['c@d.example'], data: 'x\r\n' }),
      )
      await Promise.all(submitted)
      const client = (await ControlClient.connect(url))!
      const senders = new Set<string>()
      for await (const { sender } of client.list({})) senders.add(sender)
      client.close()
      expect(senders.size).toBe(3001)
    })

    test('without an owner the command does it itself, and the next owner finds it done', async () => {
      const { url, queue, id } = await owned('mx4')
      queue.crash()
      expect(await run(hold, ['--queue', url, id])).toEqual([0, expect.stringContaining(`${id} held`)])
      await using next = await openQueue(url, deferring)
      expect(await whereOf(next)).toEqual(['hold'])
    })

    test('an owner that answers no calls is named, and its queue left alone', async () => {
      const url = urlOf('mx5')
      await initStore(storePlaceOf(url), { name: 'mx5', quotaBytes: undefined }, systemClock)
      await using queue = await openQueue(url, deferring)
      const [exitCode, text] = await run(hold, ['--queue', url, '--all'])
      expect(exitCode).toBe(1)
      expect(text).toContain('node mx5')
      expect(text).toContain('QUEUE_LOCKED')
      expect(queue.isCrashed).toBe(false)
    })

    test('calls of callers that are gone leave nothing in the store', async () => {
      const { url } = await owned('mx6')
      const client = (await ControlClient.connect(url))!
      client.close()
      const left = (): Promise<string> =>
        servers!.ask(
          servers!.servers[0]!,
          'SELECT count(*) FROM waybill.call JOIN waybill.queue USING (queue) WHERE name = $$mx6$$',
        )
      await expect.poll(left).toBe('0')
    })

    test('while every commit waits for a standby, the owner still says what it has', async () => {
      const { url, queue } = await owned('mx8')
      const [server] = servers!.servers
      const waitFor = async (names: string): Promise<void> => {
        await servers!.ask(server!, `ALTER SYSTEM SET synchronous_standby_names = '${names}'`)
        await servers!.reload(server!)
      }
      await waitFor('nobody')
      try {
        await expect.poll(() => servers!.ask(server!, 'SHOW synchronous_standby_names')).toBe('nobody')
        let isAccepted = false
        const submitted = queue
          .submit({ sender: 'a@b.example', recipients: ['c@d.example'], data: 'y' })
          .then(() => (isAccepted = true))
        const client = await ControlClient.connect(url)
        for await (const { name } of client!.destinations()) expect(name).toBe('list')
        client!.close()
        expect(isAccepted).toBe(false)
        await waitFor('')
        await submitted
      } finally {
        await waitFor('')
      }
    })

    /** A listing of which one question goes wrong, and then one of which none does. */
    async function listedTwice(name: string, breakAt: number, way: Break): Promise<[unknown, number[]]> {
      let breaking: BreakingStore | undefined
      const { url, queue } = await owned(name, (store) => (breaking = new BreakingStore(store, breakAt, way)))
      const counts: number[] = []
      const list = async (store: CallStore): Promise<void> => {
        const client = (await ControlClient.over(() => callOwner(store, name, systemClock), {}))!
        let count = 0
        for await (const _ of client.list({})) count++
        client.close()
        counts.push(count)
      }
      const code = await list(breaking!).then(() => undefined, codeOf)
      breaking!.calm()
      await list(pgStore(url))
      expect(queue.isCrashed).toBe(false)
      queue.crash()
      return [code, counts]
    }

    test.each(['before it happens', 'before its answer'] as const)(
      'each question of a call breaks in turn, %s: it ends with a reason, and leaves nothing',
      async (way) => {
        const codes = new Set<unknown>()
        // A slow server is asked more often: no call may be whole but the one that nothing breaks.
        for (let breakAt = 0; breakAt <= 9; breakAt++) {
          const [code, counts] = await listedTwice(`broken${breakAt}${way.at(-1)}`, breakAt, way)
          codes.add(code)
          expect(counts, `question ${breakAt}`).toEqual(code === undefined ? [1, 1] : [1])
        }
        expect(codes).toEqual(new Set([undefined, 'QUEUE_CRASHED', 'STORE_UNREACHABLE']))
        const left = (): Promise<string> =>
          servers!.ask(servers!.servers[0]!, 'SELECT count(*) FROM waybill.call_piece')
        await expect.poll(left).toBe('0')
      },
    )

    test('a store of an earlier version gets the tables for calls by another init', async () => {
      const { url } = await owned('mx7')
      await servers!.ask(servers!.servers[0]!, 'DROP TABLE waybill.call, waybill.call_piece')
      expect(await ControlClient.connect(url)).toBeUndefined()
      await initStore(storePlaceOf(url), undefined, systemClock)
      await expect.poll(() => ControlClient.connect(url)).toBeDefined()
      const status = await pgStore(url).connectCalls()
      expect(status.kind).toBe('done')
      if (status.kind === 'done') status.value.calls.close()
    })
  },
)
