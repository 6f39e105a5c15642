/** In which asynchronous context a queue calls the program around it. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { expect, test } from 'vitest'
import { fixedRetry } from '../../../src/policy/fixed-retry.js'
import type { Queue } from '../../../src/queue.js'
import { deferred, delivered, simulated, stages, submission } from '../stage.js'

const store = new AsyncLocalStorage<string>()

test.each(stages)(
  'transports, routes, policies and listeners run in the context of openQueue, %s',
  async (_name, run) => {
    await run(async (stage) => {
      const seen = new Map<string, Set<string | undefined>>()
      const note = (what: string): void => {
        const contexts = seen.get(what) ?? new Set()
        seen.set(what, contexts.add(store.getStore()))
      }
      const policy = fixedRetry([100])
      stage.answer = (_, { attempts }) => (attempts === 0 ? deferred : delivered)
      const answer = async (recipient: string, request: Parameters<typeof stage.answer>[1]) => {
        note('deliver')
        await request.data()
        return stage.answer(recipient, request)
      }
      const queue: Queue = await store.run('owner', () =>
        stage.open({
          transports: { out: { deliver: (request) => answer(request.recipients[0]!, request) } },
          route: (recipient) => {
            note('route')
            return { transport: 'out', nexthop: recipient.split('@')[1]! }
          },
          retry: {
            ...policy,
            decide: (state, prng) => {
              note('decide')
              return policy.decide(state, prng)
            },
          },
        }),
      )
      for (const event of ['accepted', 'deferred', 'delivered', 'finished', 'requeued'] as const)
        queue.on(event, () => note(event))
      const submit = (context: string): Promise<unknown> =>
        store.run(context, () => queue.submit(submission(`${context}@example.net`)))
      await Promise.all([submit('first'), submit('second')])
      const finished = new Promise((resolve) => queue.on('finished', resolve))
      await submit('third')
      await finished
      await store.run('operator', () => queue.flush({ all: true }))
      await stage.until('all is delivered', async () => (await stage.ids()).length === 0)
      const whats = [
        'accepted',
        'decide',
        'deferred',
        'deliver',
        'delivered',
        'finished',
        'requeued',
        'route',
      ]
      expect([...seen.keys()].sort()).toEqual(whats)
      for (const what of whats) expect([what, ...seen.get(what)!]).toEqual([what, 'owner'])
    })
  },
)

test('a submission goes on in the context of its submitter', async () => {
  await simulated(async (stage) => {
    const queue = await store.run('owner', () => stage.open())
    await store.run('client', async () => {
      await queue.submit(submission())
      expect(store.getStore()).toBe('client')
    })
  })
})

test('a timer of the queue keeps nothing of a submission whose mail waits', async () => {
  await simulated(async (stage) => {
    stage.answer = () => deferred
    const contexts = new Set<string | undefined>()
    const { clock } = stage
    const queue = await store.run('owner', () =>
      stage.open({
        clock: {
          wallMs: () => clock.wallMs(),
          monotonicMs: () => clock.monotonicMs(),
          soon: (callback) => clock.soon(callback),
          after: (delayMs, callback) => {
            contexts.add(store.getStore())
            return clock.after(delayMs, callback)
          },
        },
      }),
    )
    await store.run('client', () => queue.submit(submission()))
    await store.run('client', () => queue.idle())
    expect([...contexts]).toEqual(['owner'])
  })
})
