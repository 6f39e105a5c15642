/** The log of the clients that bring mail, before a queue that only remembers. */
import { EventEmitter } from 'node:events'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import type { QueueEvents } from '../../../src/index.js'
import { withLoggedClients } from '../../../tools/commands/log/log.js'

test('of mail that came another way into the queue nothing is kept for the log', async () => {
  const lines: object[] = []
  const log = pino({ base: null }, { write: (line) => void lines.push(JSON.parse(line) as object) })
  const events = new EventEmitter<QueueEvents>()
  const port = { limits: {}, submit: () => Promise.resolve({ id: 'q1' }) }
  const mail = { sender: 'a@example.org', recipients: ['one@example.net'], data: 'x' }
  const queue = Object.assign(events, port) as unknown as Parameters<typeof withLoggedClients>[0]
  const logged = withLoggedClients(queue, log)
  const accepted = { id: 'q1', sender: 'a@example.org', recipientCount: 1, dataBytes: 17 }
  const submit = logged.submit(mail)
  events.emit('accepted', accepted as QueueEvents['accepted'][0])
  await submit
  events.emit('accepted', accepted as QueueEvents['accepted'][0])
  await new Promise(setImmediate)
  await logged.submit(mail)
  expect(lines.map((line) => ('dataBytes' in line ? line.dataBytes : 'none'))).toEqual([17, 'none'])
})
