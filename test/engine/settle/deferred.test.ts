/** Recipients of one message that wait for different destinations, and a policy that is not the
 * same for all of them. */
import { describe, expect, test } from 'vitest'
import type { RetryPolicy } from '../../../src/policy/retry-policy.js'
import { deferred, delivered, stages, submission, type Answer, type Stage } from '../stage.js'

const lateMs = 18_000_000

/** `impatient.test` is given up after an attempt, `slow.test` is tried again much
 * later, others soon. */
const byDestination: RetryPolicy = {
  intervalsMs: [100, lateMs],
  bounceQueueLifetimeMs: 10 * lateMs,
  delayWarningAgesMs: [],
  decide: ({ nexthop }) =>
    nexthop === 'impatient.test'
      ? { kind: 'expire' }
      : { kind: 'retry', delayMs: nexthop === 'slow.test' ? lateMs : 100 },
}

/** Deferred at the first attempt, and delivered at the next; reports are delivered at once. */
const second: Answer = (_, { attempts, sender }) => (attempts === 0 && sender !== '' ? deferred : delivered)

/** The recipients of each attempt of mail that is no report, and the report's recipients
 * and their states. */
const attemptsOf = (stage: Stage): string[] => stage.attempts.map(({ recipient }) => recipient)

const reportIn = ({ data }: Stage): string[] =>
  [...data.values()].flatMap((text) =>
    [...text.matchAll(/^(?:Final-Recipient: rfc822; (\S+)|Status: (\S+))\r?$/gm)].map(
      ([, recipient, status]) => recipient ?? status!,
    ),
  )

describe.each(stages)('on the %s disk', (_, run) => {
  test('a recipient that is given up is reported once, and not attempted again, while others are', async () => {
    await run(async (stage) => {
      stage.answer = second
      const queue = await stage.open({ retry: byDestination })
      const failures: unknown[] = []
      queue.on('failed', ({ recipients, transport, nexthop, status, text }) =>
        failures.push({ recipients, transport, nexthop, status, text }),
      )
      await queue.submit(submission(['a@b.test', 'one@impatient.test', 'c@d.test', 'two@impatient.test']))
      await stage.until('nothing is left', () => stage.isEmpty())
      expect(failures).toEqual([
        {
          recipients: ['one@impatient.test', 'two@impatient.test'],
          transport: 'out',
          nexthop: 'impatient.test',
          status: '5.4.7',
          text: 'delivery time expired; the last attempt: full',
        },
      ])
      expect(reportIn(stage)).toEqual(['one@impatient.test', '5.4.7', 'two@impatient.test', '5.4.7'])
      expect(stage.told('delivered').sort()).toEqual(['a@b.test', 'ada@example.org', 'c@d.test'])
      expect(attemptsOf(stage)).toHaveLength(7)
      expect(stage.warnings).toEqual([])
    })
  })

  test('the shortest of several delays is that of the message, in any order of recipients', async () => {
    await run(async (stage) => {
      stage.answer = second
      const queue = await stage.open({ retry: byDestination })
      await queue.submit(submission(['late@slow.test', 'soon@b.test']))
      await stage.until('nothing is left', () => stage.isEmpty())
      expect(stage.told('delivered').sort()).toEqual(['late@slow.test', 'soon@b.test'])
    })
  })

  test('more destinations make no delay shorter: a policy that leaves it to chance draws once for all', async () => {
    await run(async (stage) => {
      const drawn: number[][] = []
      const retry: RetryPolicy = {
        ...byDestination,
        decide: ({ attempts }, prng) => {
          const draws = (drawn[attempts - 1] ??= [])
          draws.push(prng.uint32(), prng.uint32())
          return { kind: 'retry', delayMs: 100 }
        },
      }
      stage.answer = (_, { attempts }) => (attempts < 2 ? deferred : delivered)
      const queue = await stage.open({ retry })
      await queue.submit(submission(['a@b.test', 'c@d.test', 'e@f.test']))
      await stage.until('nothing is left', () => stage.isEmpty())
      expect(drawn).toHaveLength(2)
      for (const draws of drawn) {
        // Where its lane has no room yet, a message is decided about again.
        expect(draws.length % 6).toBe(0)
        const [one, other, ...rest] = draws.slice(-6)
        expect(one).not.toBe(other)
        expect(rest).toEqual([one, other, one, other])
      }
      expect(drawn[0]).not.toEqual(drawn[1])
    })
  })

  test('those of a destination are asked about once, and those without a route together', async () => {
    await run(async (stage) => {
      const asked: string[] = []
      const retry: RetryPolicy = {
        ...byDestination,
        decide: ({ transport, nexthop, attempts }) => {
          asked.push(`${transport}/${nexthop}`)
          return attempts < 2 ? { kind: 'retry', delayMs: 100 } : { kind: 'expire' }
        },
      }
      let isRouted = true
      stage.answer = () => deferred
      const queue = await stage.open({
        retry,
        route: (recipient) => {
          if (!isRouted && recipient.startsWith('x')) throw new Error('no route')
          return { transport: 'out', nexthop: recipient.slice(2) }
        },
      })
      queue.once('requeued', () => (isRouted = false))
      await queue.submit({ ...submission(['x@a.test', 'y@a.test', 'x@b.test', 'y@b.test']), sender: '' })
      await stage.until('nothing is left', () => stage.isEmpty())
      expect(asked.slice(0, 2)).toEqual(['out/a.test', 'out/b.test'])
      expect(asked.slice(-3)).toEqual(['/', 'out/a.test', 'out/b.test'])
    })
  })
})
