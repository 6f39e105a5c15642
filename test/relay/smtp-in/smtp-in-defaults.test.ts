/** What holds for clients where the relay was told nothing: the numbers that its options name. */
import { Socket } from 'node:net'
import { expect, test, vi } from 'vitest'
import { codesTo } from '../raw-client.js'
import { connected, listen, memoryQueue } from './smtp-in-fixture.js'

/** Nobody is trusted who comes from this machine. */
const strangers = { trust: ['192.0.2.1'] } as const

test('five minutes of silence end a session', async () => {
  const timeouts = vi.spyOn(Socket.prototype, 'setTimeout')
  try {
    const client = await connected(await listen(memoryQueue()))
    await client.reply()
    expect(new Set(timeouts.mock.calls.map(([ms]) => ms))).toEqual(new Set([300_000]))
  } finally {
    timeouts.mockRestore()
  }
})

test('a stranger waits a tenth of a second for the greeting', async () => {
  const listener = await listen(memoryQueue(), strangers)
  // The relay may take the connection before its client hears of it.
  const startedAt = performance.now()
  const client = await connected(listener)
  await client.reply()
  // Timers are no finer than a millisecond.
  expect(performance.now() - startedAt).toBeGreaterThan(90)
})

test('a stranger has fifty sessions at once', async () => {
  const listener = await listen(memoryQueue(), { ...strangers, greetDelayMs: 1 })
  const greetings: string[] = []
  for (let i = 0; i <= 50; i++) greetings.push(await (await connected(listener)).reply())
  expect(greetings.map((greeting) => greeting.slice(0, 3))).toEqual([...Array(50).fill('220'), '421'])
})

test('trusted clients have five hundred sessions at once', async () => {
  const listener = await listen(memoryQueue())
  const greetings: string[] = []
  for (let i = 0; i <= 500; i++) {
    const client = await connected(listener)
    greetings.push(await client.reply())
    if (i === 500) break
    // One that has begun a message gives way to nobody.
    await client.say('HELO client.example')
    await client.say('MAIL FROM:<s@example.org>')
  }
  expect(greetings.map((greeting) => greeting.slice(0, 3))).toEqual([...Array(500).fill('220'), '421'])
})

test('a message has a thousand recipients', async () => {
  const limits = { dataBytesMax: 2_000_000, recipientCountMax: 5000 }
  const client = await connected(await listen(memoryQueue(undefined, limits)))
  await client.reply()
  await client.say('EHLO client.example')
  await client.say('MAIL FROM:<s@example.org>')
  const codes = await codesTo(
    client,
    Array.from({ length: 1001 }, (_, i) => `<r${i}@example.net>`),
  )
  expect(codes.slice(0, 1000)).toEqual(Array(1000).fill('250 2.1.5'))
  expect(codes[1000]).toBe('452 4.5.3')
})
