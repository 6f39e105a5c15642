/** A node beside others of its store: how it looks at them, and what it says of a queue that it has
 * adopted. */
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { fixedRetry, openQueue, type Queue, type QueueOptions } from '../../src/index.js'
import { initStore } from '../../src/store/open-store.js'
import { storePlaceOf } from '../../src/store/store-url.js'
import { Adoption } from '../../tools/commands/store/adoption.js'
import { postgresMissing, Servers } from '../../tools/crash-store/servers.js'
import { startedRelay } from '../end-to-end/relay-process.js'
import { runWaybill, type Ended } from '../tools/command-process.js'
import { temporaryDirectory } from '../temporary-directory.js'

const missing = postgresMissing()

const options: QueueOptions = {
  transports: { none: { deliver: () => ({ kind: 'delivered' }) } },
  route: () => ({ transport: 'none', nexthop: 'none' }),
  retry: fixedRetry([100]),
}

describe.skipIf(missing !== undefined)(
  `an adopting node${missing === undefined ? '' : `: ${missing}`}`,
  () => {
    let servers: Servers | undefined
    beforeAll(async () => {
      servers = await Servers.start(0)
    })
    afterAll(() => servers?.remove())

    /** Connections of nobody's life. */
    const lookers = (): Promise<string> =>
      servers!.ask(
        servers!.servers[0]!,
        "SELECT string_agg(pid::text, ' ') FROM pg_stat_activity WHERE application_name = 'waybill'",
      )

    test('looks at the owners of all queues on one connection, which lasts', async () => {
      const urlOf = (queue: string): string => `${servers!.url}?safety=assumed&queue=${queue}`
      for (const name of ['a', 'b', 'c'])
        await initStore(storePlaceOf(urlOf(name)), { name, quotaBytes: undefined }, systemClock)
      for (const name of ['b', 'c']) {
        const queue = await openQueue(urlOf(name), options)
        onTestFinished(() => queue.crash())
      }
      const log = pino({ level: 'silent' })
      const onAdopted = (): void => undefined
      const adoption = new Adoption({
        url: urlOf('a'),
        queue: 'a',
        node: 'a',
        ttlMs: 6000,
        options,
        log,
        onAdopted,
      })
      onTestFinished(() => adoption.stop())
      void adoption.run()
      await expect.poll(lookers).toMatch(/^\d+$/)
      const first = await lookers()
      await sleep(7000)
      expect(await lookers()).toBe(first)
    })

    test('gives a queue back that it cannot look after, and adopts it again', async () => {
      const urlOf = (queue: string): string => `${servers!.url}?safety=assumed&ttl=1s&queue=${queue}`
      for (const name of ['d', 'e'])
        await initStore(storePlaceOf(urlOf(name)), { name, quotaBytes: undefined }, systemClock)
      const gone = await openQueue(urlOf('e'), options)
      gone.crash()
      const adopted: Queue[] = []
      const adoption = new Adoption({
        url: urlOf('d'),
        queue: 'd',
        node: 'd',
        ttlMs: 1000,
        options,
        log: pino({ level: 'silent' }),
        onAdopted: (queue) => {
          if (adopted.push(queue) === 1) throw new Error('no socket for it')
        },
      })
      onTestFinished(() => adoption.stop())
      void adoption.run()
      await expect
        .poll(() => adopted.map(({ isCrashed }) => isCrashed), { timeout: 30_000 })
        .toEqual([true, false])
      adopted[1]!.crash()
    })

    test('tells the problems and the numbers of a queue while it has adopted it', async () => {
      const directory = await temporaryDirectory('adopting')
      const store = `${servers!.url}?safety=assumed&ttl=1s`
      const waybill = (...words: string[]): Promise<Ended> => runWaybill(words, { directory })
      const started = async (queue: string, ...words: string[]): ReturnType<typeof startedRelay> => {
        await waybill('store', 'init', '--store', store, '--queue', queue)
        const named = ['--store', store, '--queue', queue, '--relay', '127.0.0.1:9']
        return startedRelay([...named, ...words], {}, { makesQueue: true })
      }
      const gone = await started('mx2', '--adopt', 'no')
      const relay = await started('mx1', '--freeze', '--metrics', '127.0.0.1:0')
      await gone.kill()
      await expect.poll(() => relay.log).toMatch(/"adopted":"mx2"[^\n]*without an owner is adopted/)
      const told = async (): Promise<string> =>
        (await waybill('top', '--once', '--json', '--queue', `${store}&queue=mx2`)).stdout
      await expect.poll(told, { interval: 1000 }).toContain('NOTHING_DELIVERED')

      const [metrics] = /http:\/\/\S+\/metrics/.exec(relay.output)!
      const numbers = /^waybill_(?:up|store_epoch|accepted_messages_total)(?:\{queue="mx2"\})? /
      const shown = async (): Promise<string[]> => {
        const text = await (await fetch(metrics)).text()
        return text.split('\n').filter((line) => numbers.test(line))
      }
      expect(await shown()).toEqual([
        'waybill_up 1',
        'waybill_up{queue="mx2"} 1',
        'waybill_accepted_messages_total 0',
        'waybill_accepted_messages_total{queue="mx2"} 0',
        'waybill_store_epoch 1',
        'waybill_store_epoch{queue="mx2"} 2',
      ])
      await started('mx2', '--adopt', 'no')
      await expect
        .poll(shown, { interval: 500 })
        .toEqual(['waybill_up 1', 'waybill_accepted_messages_total 0', 'waybill_store_epoch 1'])
    })
  },
)
