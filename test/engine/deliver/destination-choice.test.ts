/** Which destinations a snapshot has. */
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Transport } from '../../../src/delivery/transport.js'
import type { DestinationChoice } from '../../../src/engine/deliver/destinations-now.js'
import { Destination } from '../../../src/scheduler/destination.js'
import { codeOf, delivered, gate, patient, simulated, submission } from '../stage.js'

test('each choice has the destinations that it names, as all of them are shown', async () => {
  await simulated(async (stage) => {
    const { opened, open } = gate()
    const out: Transport = { deliver: () => opened.then(() => delivered) }
    const queue = await stage.open({
      ...patient,
      transports: { out },
      limits: [{ kind: 'nexthop', pattern: 'limited.*', count: 1, perMs: 60_000 }],
      scheduler: { defaultProcessLimit: 3 },
    })
    await queue.suspend({ nexthop: 'unused.example' })
    const hosts = ['limited', 'limited', 'limited', 'a', 'b', 'c', 'd']
    for (const host of hosts) await queue.submit(submission(`n@${host}.example`))
    await stage.until(
      'three are under way',
      () => queue.destinations().filter(({ busy }) => busy > 0).length === 3,
    )
    await stage.until('mail waits for a limit', () =>
      queue.destinations().some(({ limit }) => limit !== undefined),
    )
    const all = queue.destinations()
    const chosen = (destinations: DestinationChoice): readonly string[] =>
      queue.stats({ destinations }).destinations.map((one) => JSON.stringify(one))
    const lines = (those: typeof all): readonly string[] => those.map((one) => JSON.stringify(one))
    expect(all.length).toBeGreaterThan(4)
    expect(chosen('all')).toEqual(lines(all))
    expect(chosen('busy')).toEqual(lines(all.filter(({ busy }) => busy > 0)))
    expect(chosen('limited')).toEqual(lines(all.filter(({ limit }) => limit !== undefined)))
    expect(chosen('limited')).toHaveLength(1)
    expect(chosen('none')).toEqual([])
    open()
  })
})

test('a snapshot of few destinations makes none of the others', async () => {
  await simulated(async (stage) => {
    const { opened, open } = gate()
    const queue = await stage.open({
      ...patient,
      transports: { out: { deliver: () => opened.then(() => delivered) } },
      scheduler: { defaultProcessLimit: 2 },
    })
    for (let n = 0; n < 30; n++) await queue.submit(submission(`n@host${n}.example`))
    await stage.until(
      'two are under way',
      () => queue.destinations().filter(({ busy }) => busy > 0).length === 2,
    )
    const made = vi.spyOn(Destination.prototype, 'snapshot')
    onTestFinished(() => made.mockRestore())
    for (const destinations of ['none', 'limited', 'busy'] as const) queue.stats({ destinations })
    expect(made).toHaveBeenCalledTimes(2)
    open()
  })
})

test('a choice that there is not is refused', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open()
    const wrong = [{ destinations: 'some' }, { destination: 'all' }] as unknown as readonly {
      destinations: 'all'
    }[]
    for (const options of wrong)
      expect(await codeOf(Promise.resolve().then(() => queue.stats(options)))).toBe('OPTION_INVALID')
  })
})
