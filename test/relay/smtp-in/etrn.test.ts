/** ETRN (RFC 1985): clients that may relay ask for the mail that waits for a domain. */
import { MessageChannel } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import { etrnDomain, QueueStarts } from '../../../src/relay/etrn.js'
import { answerSubmissions, queueBehind } from '../../../src/relay/smtp-in/submission-port.js'
import type { RawClient } from '../raw-client.js'
import { connected, listen, memoryQueue } from './smtp-in-fixture.js'

function asking(): { queue: ReturnType<typeof memoryQueue>; asked: string[] } {
  const asked: string[] = []
  return { queue: { ...memoryQueue(), startQueue: (domain) => asked.push(domain) }, asked }
}

async function greeted(queue: ReturnType<typeof memoryQueue>, trust: string): Promise<[RawClient, string]> {
  const client = await connected(await listen(queue, { trust: [trust], greetDelayMs: 0 }))
  await client.reply()
  return [client, await client.say('EHLO client.example')]
}

test('a trusted client starts the mail of a domain, however it is written', async () => {
  const { queue, asked } = asking()
  const [client, ehlo] = await greeted(queue, '127.0.0.1')
  expect(ehlo).toMatch(/^250[ -]ETRN$/m)
  expect(await client.say('ETRN Example.NET')).toBe('250 2.0.0 queuing for node example.net started')
  expect(asked).toEqual(['example.net'])
  expect(await client.say('MAIL FROM:<a@example.org>')).toMatch(/^250 /)
  expect(await client.say('ETRN example.net')).toMatch(/^503 5\.5\.1 /)
  expect(await client.say('RSET')).toMatch(/^250 /)
  expect(await client.say('ETRN example.org')).toMatch(/^250 /)
  expect(asked).toEqual(['example.net', 'example.org'])
})

test('a stranger is not offered it, and is refused', async () => {
  const { queue, asked } = asking()
  const [client, ehlo] = await greeted(queue, '192.0.2.1')
  expect(ehlo).not.toContain('ETRN')
  expect(await client.say('ETRN example.net')).toMatch(/^459 5\.7\.1 /)
  expect(asked).toEqual([])
})

test('it is no word before EHLO, and none of a server whose queue does not start mail', async () => {
  const { queue, asked } = asking()
  const client = await connected(await listen(queue, { greetDelayMs: 0 }))
  await client.reply()
  expect(await client.say('ETRN example.net')).toMatch(/^503 /)
  const [other, ehlo] = await greeted(memoryQueue(), '127.0.0.1')
  expect(ehlo).not.toContain('ETRN')
  expect(await other.say('ETRN example.net')).toMatch(/^502 /)
  expect(asked).toEqual([])
})

test.each([
  'ETRN',
  'ETRN a.test b.test',
  'ETRN @example.net',
  'ETRN #q',
  'ETRN a b@c',
  'ETRN -x.test',
  'ETRN a..b',
])('%s names no domain', (line) => {
  expect(etrnDomain(line)).toMatchObject({ code: 501 })
})

test('a domain is flushed once at a time, and again when that has ended', async () => {
  const ends: (() => void)[] = []
  const starts = new QueueStarts(() => new Promise<void>((resolve) => ends.push(resolve)))
  expect([starts.start('a.test'), starts.start('a.test'), starts.start('b.test')]).toEqual([
    true,
    false,
    true,
  ])
  ends[0]!()
  await Promise.resolve()
  await Promise.resolve()
  expect(starts.start('a.test')).toBe(true)
  for (let i = 0; i < 200; i++) starts.start(`${i}.test`)
  expect(ends.length).toBeLessThanOrEqual(101)
})

test('the request reaches a queue on another thread', async () => {
  const { queue, asked } = asking()
  const { port1, port2 } = new MessageChannel()
  onTestFinished(() => port1.close())
  answerSubmissions(port1, queue)
  queueBehind(port2, queue.limits).startQueue!('example.net', { address: '127.0.0.1', helo: 'x' })
  await expect.poll(() => asked).toEqual(['example.net'])
})
