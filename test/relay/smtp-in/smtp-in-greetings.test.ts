/** Names with blanks, odd commands, and VRFY. */
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
