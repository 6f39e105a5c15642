/** A call of which each question goes wrong in turn: the command learns it, and nothing else
 * suffers. */
import { expect, onTestFinished, test } from 'vitest'
import { systemClock, type Clock } from '../../src/base/clock.js'
import { ControlClient } from '../../src/control/client.js'
import { callOwner } from '../../src/control/store-client.js'
import { serveStoreControl } from '../../src/control/store-server.js'
import { BreakingStore, type Break } from './breaking-calls.js'
import { counted, FakeQueue, listedMessage } from './fake-queue.js'
import { MemoryStore } from './memory-calls.js'

/** Waits for a notice or a new connection are short; the time that a client may take is not. */
const shortMsMax = 5000
const fast: Clock = {
  ...systemClock,
  after: (ms, run) => systemClock.after(ms > shortMsMax ? ms : ms / 100, run),
}
const messageCount = 500

interface Outcome {
  /** Undefined: the command was answered as a whole. */
  readonly code: string | undefined
  /** Of messages that the command has listed. */
  readonly listedCount: number
  readonly questionCount: number
}

/** A verb and a listing over one call, of which one question goes wrong; then the same, and all is
 * well. */
async function outcomeOf(breakAt: number, way: Break): Promise<Outcome> {
  const memory = new MemoryStore()
  const queue = new FakeQueue()
  queue.answer = () => Promise.resolve(counted(7))
  queue.listed = async function* () {
    for (let i = 0; i < messageCount; i++) yield { ...listedMessage('m'), sender: 'x'.repeat(2000) }
  }
  const breaking = new BreakingStore(memory, breakAt, way)
  const life = { queue: 1, nonce: 'first', timeline: 1 }
  const server = serveStoreControl(queue, breaking, () => life, { clock: fast })
  onTestFinished(() => server.close())
  let listedCount = 0
  const command = async (): Promise<void> => {
    const client = await ControlClient.over(() => callOwner(breaking, 'mx1', fast), {})
    // Its owner lives: a command that missed it would take the queue itself.
    expect(client).toBeDefined()
    try {
      const { messageCount: held } = await client!.verb({ do: 'hold', selector: { all: true } })
      expect(held).toBe(7)
      for await (const _ of client!.list({})) listedCount++
    } finally {
      client?.close()
    }
  }
  const code = await command().then(
    () => undefined,
    (error: unknown) => (error as { readonly code?: string }).code ?? String(error),
  )
  breaking.calm()
  const { questionCount } = breaking
  const first = { code, listedCount, questionCount }
  expect(queue.calls.filter(({ verb }) => verb === 'hold').length).toBeLessThanOrEqual(1)
  listedCount = 0
  await command()
  expect(listedCount).toBe(messageCount)
  server.close()
  await expect.poll(() => memory.connections.size).toBe(0)
  return first
}

test('without a fault a command is answered by some dozens of questions', async () => {
  const { code, listedCount, questionCount } = await outcomeOf(0, 'before its answer')
  expect([code, listedCount]).toEqual([undefined, messageCount])
  expect(questionCount).toBeGreaterThan(20)
})

const ways = ['before it happens', 'before its answer'] as const
test.each(ways)('a command whose connection, or the owner’s, breaks %s ends with a reason', async (way) => {
  const codes = new Set<string | undefined>()
  for (let breakAt = 0; breakAt <= 30; breakAt++) {
    const { code, listedCount } = await outcomeOf(breakAt, way)
    codes.add(code)
    // A listing that is cut off does not look like a short one.
    expect(code !== undefined || listedCount === messageCount, `question ${breakAt}`).toBe(true)
  }
  expect(codes).toEqual(new Set([undefined, 'QUEUE_CRASHED', 'STORE_UNREACHABLE']))
})
