/** Names with blanks, no name, odd commands, and VRFY. */
import { expect, test } from 'vitest'
import { connected, listen, memoryQueue } from './smtp-in-fixture.js'

test.each(['HELO HP LaserJet 4', 'EHLO HP  LaserJet 4'])('%s is a greeting', async (greeting) => {
  const queue = memoryQueue()
  const client = await connected(await listen(queue))
  await client.reply()
  expect(await client.say(greeting)).toMatch(/^250/)
  for (const line of ['MAIL  FROM:<a@b.example>', 'RCPT  TO:<x@y.example>'])
    expect(await client.say(line)).toMatch(/^250/)
  await client.say('DATA')
  expect(await client.say('x\r\n.')).toMatch(/^250/)
  expect(queue.kept[0]?.client.helo).toBe('hp-laserjet-4')
})

test('VRFY says what RFC 5321 has for it', async () => {
  const client = await connected(await listen(memoryQueue()))
  await client.reply()
  await client.say('EHLO x')
  expect(await client.say('VRFY ada')).toContain('252 2.0.0 Cannot VRFY user; try RCPT')
})

const trusted = { trust: ['127.0.0.1'] }
const stranger = { trust: ['192.0.2.1'] }

test('a client that may relay need not greet, and is known by the address', async () => {
  const queue = memoryQueue()
  const client = await connected(await listen(queue, { ...trusted, received: true }))
  await client.reply()
  for (const line of ['MAIL FROM:<a@b.example>', 'RCPT TO:<x@y.example>'])
    expect(await client.say(line)).toMatch(/^250/)
  await client.say('DATA')
  expect(await client.say('x\r\n.')).toMatch(/^250/)
  expect(queue.kept[0]?.client.helo).toBe('[127.0.0.1]')
  expect(queue.kept[0]?.data.toString()).toMatch(
    /^Received: from \[127\.0\.0\.1\] \(\[127\.0\.0\.1\]\)\r\n.* with SMTP /,
  )
})

test('a stranger has to greet', async () => {
  const client = await connected(await listen(memoryQueue(), stranger))
  await client.reply()
  expect(await client.say('MAIL FROM:<a@b.example>')).toMatch(/^503 /)
})

test('a client that may relay may begin its lines with blanks', async () => {
  const queue = memoryQueue()
  const client = await connected(await listen(queue, trusted))
  await client.reply()
  for (const line of ['  EHLO x', '\tMAIL FROM:<a@b.example>', ' \tRCPT TO:<x@y.example>'])
    expect(await client.say(line)).toMatch(/^250/)
  expect(await client.say('    DATA')).toMatch(/^354/)
  expect(await client.say('  x\r\n.')).toMatch(/^250/)
  expect(queue.kept[0]?.data.toString()).toBe('  x\r\n')
  expect(await client.say(' QUIT')).toMatch(/^221/)
})

test('a stranger may not', async () => {
  const client = await connected(await listen(memoryQueue(), stranger))
  await client.reply()
  expect(await client.say(' EHLO x')).toMatch(/^500 /)
})
