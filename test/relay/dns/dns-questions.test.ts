/** What Node's resolver makes of what a server says: of a real one, over UDP. */
import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { systemClock, type Clock } from '../../../src/base/clock.js'
import {
  DnsQuestions,
  systemResolver,
  withQuestions,
  type DnsAnswer,
  type MxResolver,
} from '../../../src/relay/dns/dns-questions.js'
import { zone } from '../zone.js'

const questions = (timeoutMs = 30_000): DnsQuestions => new DnsQuestions(systemClock, timeoutMs)

type Reply = (question: Buffer) => Buffer | undefined

async function mxOf(reply: Reply, timeoutMs?: number): Promise<DnsAnswer<unknown>> {
  const socket = createSocket('udp4')
  socket.on('message', (question, { address, port }) => {
    const answer = reply(question)
    if (answer !== undefined) socket.send(answer, port, address)
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  onTestFinished(() => void socket.close())
  const resolver = systemResolver()
  onTestFinished(() => resolver.cancel())
  resolver.setServers([`127.0.0.1:${socket.address().port}`])
  return questions(timeoutMs).ask('MX of example.net', () => resolver.resolveMx('example.net'))
}

/** The question's name, type and class end with its class, IN. */
const questionBytes = (question: Buffer): number => question.indexOf(Buffer.from([0, 0, 15, 0, 1])) + 5

const replied =
  (code: number, answer: readonly number[] = []): Reply =>
  (question) => {
    const head = Buffer.from(question.subarray(0, questionBytes(question)))
    head[2] = 0x84
    head[3] = 0x80 | code
    head.writeUInt16BE(answer.length > 0 ? 1 : 0, 6)
    head.writeUInt32BE(0, 8)
    return Buffer.concat([head, Buffer.from(answer)])
  }

/** An MX record of the question's name, for an hour. */
const mxRecord = (data: readonly number[]): readonly number[] =>
  [0xc0, 12, 0, 15, 0, 1, 0, 0, 14, 16, 0, data.length].concat(data)

test.each<[string, Reply, object]>([
  [
    'a record',
    replied(0, mxRecord([0, 10, 1, 0x61, 0xc0, 12])),
    { records: [{ exchange: 'a.example.net', priority: 10 }] },
  ],
  ['a null MX', replied(0, mxRecord([0, 0, 0])), { records: [{ exchange: '', priority: 0 }] }],
  ['no record', replied(0), { kind: 'no records' }],
  ['NXDOMAIN', replied(3), { kind: 'no name' }],
])('%s is an answer', async (_, reply, answer) => {
  expect(await mxOf(reply)).toMatchObject(answer)
})

test.each<[string, Reply]>([
  ['SERVFAIL', replied(2)],
  ['REFUSED', replied(5)],
  ['NOTIMP', replied(4)],
  ['FORMERR', replied(1)],
  ['a record that is cut off', replied(0, mxRecord([0, 10]).slice(0, 8))],
])('%s is none', async (_, reply) => {
  expect(await mxOf(reply)).toMatchObject({ kind: 'unknown' })
})

test('a server that is not there is no answer', async () => {
  const resolver = systemResolver()
  // Nobody has a DNS on the port for throwing things away.
  resolver.setServers(['127.0.0.1:9'])
  const answer = await questions().ask('A of x', () => resolver.resolve4('x'))
  expect(answer).toEqual({ kind: 'unknown', reason: 'A of x: ECONNREFUSED' })
})

test('a server that is silent is waited for no longer than told', async () => {
  expect(await mxOf(() => undefined, 50)).toEqual({
    kind: 'unknown',
    reason: 'MX of example.net: no answer in time',
  })
})

test('an attempt that is abandoned waits for no answer', async () => {
  const never = (): Promise<string[]> => new Promise(() => {})
  const ofAttempt = questions()
  const answer = ofAttempt.ask('A of x', never)
  const abandonedAtMs = performance.now()
  ofAttempt.abandon()
  expect(await answer).toMatchObject({ kind: 'unknown' })
  expect(await ofAttempt.ask('A of x', never)).toMatchObject({ kind: 'unknown' })
  expect(performance.now() - abandonedAtMs).toBeLessThan(10_000)
})

test('an answer without records says that there are none', async () => {
  expect(await questions().ask('A of x', async () => [])).toEqual({ kind: 'no records' })
})

test('what was still asked of the system is cancelled when nobody waits any more', async () => {
  const cancel = vi.spyOn(Resolver.prototype, 'cancel')
  try {
    const { signal } = new AbortController()
    await withQuestions({ clock: systemClock, timeoutMs: 30_000 }, signal, async () => {})
    expect(cancel).toHaveBeenCalledOnce()
  } finally {
    cancel.mockRestore()
  }
})

test('attempts share no resolver: one would learn from the others how long to wait', async () => {
  const { signal } = new AbortController()
  const options = { clock: systemClock, timeoutMs: 30_000 }
  const asked = (): Promise<MxResolver> => withQuestions(options, signal, async (resolver) => resolver)
  const [first, second] = await Promise.all([asked(), asked()])
  expect(first).not.toBe(second)
})

test('a resolver that throws instead of rejecting has no answer either', async () => {
  const throwing = (): never => {
    throw new TypeError('not that way')
  }
  expect(await questions().ask('A of x', throwing)).toMatchObject({ kind: 'unknown' })
})

test('what nobody waited for has left no timer when the round of questions is over', async () => {
  let timerCount = 0
  const clock: Clock = {
    ...systemClock,
    after: (delayMs, callback) => {
      timerCount++
      const timer = systemClock.after(delayMs, callback)
      const cancel = (): void => {
        timerCount--
        timer.cancel()
      }
      return { cancel }
    },
  }
  const resolver = zone({ 'mx.example.net': { a: 'silent' } })
  await withQuestions(
    { resolver, clock, timeoutMs: 30_000 },
    new AbortController().signal,
    async (_, asked) => {
      void asked.ask('A of mx.example.net', () => resolver.resolve4('mx.example.net'))
      expect(timerCount).toBe(1)
    },
  )
  expect(timerCount).toBe(0)
})
