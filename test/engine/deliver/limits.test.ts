/** What a queue tells of its limits: sites that die, and transports whose processes are all
 * taken. */
import { expect, test } from 'vitest'
import type { Transport } from '../../../src/delivery/transport.js'
import type { QueueEvents } from '../../../src/engine/life/events.js'
import { delivered, pause, simulated, submission } from '../stage.js'

test('a destination that dies is told once, with its reason and until when', async () => {
  await simulated(async (stage) => {
    const out: Transport = { deliver: () => ({ kind: 'site', status: '4.4.1', reason: 'nobody answers' }) }
    const dead: QueueEvents['dead'][0][] = []
    const queue = await stage.open({
      transports: { out },
      scheduler: { initialDestinationConcurrency: 1, minimalBackoffTime: 60 },
    })
    queue.on('dead', (event) => dead.push(event))
    for (let i = 0; i < 5; i++) await queue.submit(submission())
    await stage.until('it has died', () => dead.length > 0)
    await pause(stage, 1000)
    expect(dead).toMatchObject([
      { transport: 'out', nexthop: 'example.net', status: '4.4.1', text: 'nobody answers' },
    ])
    const [{ untilMs }] = dead as [QueueEvents['dead'][0]]
    const [destination] = queue.destinations()
    expect(destination!.state).toMatchObject({ kind: 'dead', untilMs })
  })
})

test('statistics have each transport beside its process limit, and what waits for it', async () => {
  await simulated(async (stage) => {
    const out: Transport = {
      deliver: async () => {
        await pause(stage, 1000)
        return delivered
      },
    }
    const queue = await stage.open({ transports: { out }, scheduler: { defaultProcessLimit: 2 } })
    const all = Array.from({ length: 6 }, (_, i) => queue.submit(submission(`one@${i}.example`)))
    await Promise.all(all)
    await stage.until('they wait', () => queue.stats().transports[0]?.delayedCount === 4)
    expect(queue.stats().transports).toEqual([
      { transport: 'out', busy: 2, processLimit: 2, delayedCount: 4 },
    ])
    await queue.idle()
    expect(queue.stats().transports).toMatchObject([{ busy: 0, delayedCount: 0 }])
  })
})
