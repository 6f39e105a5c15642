/** The example of src/sim/README.md, and that it finds a transport that forgets. */
import { expect, test } from 'vitest'
import { simulate, type Simulation } from '../../src/sim/index.js'

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
