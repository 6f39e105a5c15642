/** The example of src/sim/README.md, and that it finds a transport that forgets. */
import { expect, test } from 'vitest'
import { simulate, type SimulateOptions, type Simulation } from '../../src/sim/index.js'

/** A mailbox that knows a message by its id, as a careful receiver does; or that only counts. */
const crashTest = (knowsIds: boolean): Promise<Simulation> =>
  simulate({
    seeds: 60,
    world: () => ({ mailbox: new Map<string, number>() }),
    transports: ({ mailbox }, clock) => ({
      mailbox: {
        deliver: async ({ id, recipients }) => {
          await new Promise<void>((resolve) => clock.after(5, resolve))
          for (const recipient of recipients) {
            const key = `${id} ${recipient}`
            mailbox.set(key, knowsIds ? 1 : (mailbox.get(key) ?? 0) + 1)
          }
          return { kind: 'delivered' }
        },
      },
    }),
    submissions: [
      {
        sender: 'a@example.org',
        recipients: ['b@example.net', 'c@example.com'],
        data: 'Subject: 1\r\n\r\nhello\r\n',
      },
      { sender: 'a@example.org', recipients: ['b@example.net'], data: 'Subject: 2\r\n\r\nhello\r\n' },
    ],
    check: ({ mailbox }, settled) => {
      const promised = settled.includes(1) ? 3 : settled.includes(0) ? 2 : 0
      if (mailbox.size < promised) throw new Error('mail is lost')
      for (const count of mailbox.values()) if (count > 1) throw new Error('mail came twice')
    },
  })

test('a transport that knows what it has delivered keeps mail single through any crash', async () => {
  const { runs, crashes, failure } = await crashTest(true)
  expect(failure).toBeUndefined()
  expect(runs).toBe(60)
  expect(crashes).toBeGreaterThan(60)
})

test('a transport that only counts is found out, and the run is named', async () => {
  const { failure } = await crashTest(false)
  expect(failure?.error).toEqual(new Error('mail came twice'))
  expect(failure?.crashes.length).toBeGreaterThan(0)
})

test('most crashes come while mail is submitted and attempted, and a few while the queue is made', async () => {
  const submissions = Array.from({ length: 4 }, (_, n) => ({
    sender: 'a@example.org',
    recipients: ['b@example.net'],
    data: `Subject: ${n}\r\n\r\nhello\r\n`,
  }))
  let runCount = 0
  let earlyCount = 0
  let lateCount = 0
  const { crashes } = await simulate({
    seeds: 120,
    crashesMax: 1,
    submissions,
    world: () => ({ made: 0 }),
    transports: (world, clock) => {
      world.made++
      return {
        out: {
          deliver: async () => {
            await new Promise<void>((resolve) => clock.after(5, resolve))
            return { kind: 'delivered' }
          },
        },
      }
    },
    check: ({ made }, settled) => {
      runCount++
      if (made === 1) lateCount++
      else if (settled.length === 0) earlyCount++
    },
  })
  expect(runCount).toBe(120)
  expect(crashes).toBe(120 - lateCount)
  // A run without any crash teaches little more.
  expect(earlyCount + lateCount).toBeLessThan(36)
  expect(earlyCount).toBeGreaterThan(3)
})

const nothing: SimulateOptions<object> = {
  seeds: 1,
  world: () => ({}),
  transports: () => ({ out: { deliver: () => ({ kind: 'delivered' }) } }),
  submissions: [],
  check: () => undefined,
}

test('a check that takes its time is waited for, and what it rejects with is the verdict', async () => {
  const verdict = new Error('mail is lost')
  const { failure } = await simulate({ ...nothing, check: () => Promise.reject(verdict) })
  expect(failure?.error).toBe(verdict)
})

test.each([
  ['seeds', { seeds: NaN }],
  ['seeds', { seeds: 0 }],
  ['from', { from: '5' }],
  ['crashesMax', { crashesMax: 0 }],
  ['seed', { seed: 5 }],
])('a %s that would test nothing, or something else, is refused: %o', async (option, part) => {
  await expect(simulate({ ...nothing, ...part } as SimulateOptions<object>)).rejects.toMatchObject({
    code: 'OPTION_INVALID',
    place: { option },
  })
})
