/** What stands at the relay's door, before a queue that only remembers. */
import { EventEmitter } from 'node:events'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import type { QueueEvents, Submission } from '../../../src/index.js'
import { withBcc, withLoggedClients, type RelayDoor } from '../../../tools/commands/log/log.js'

function door(): { port: RelayDoor; taken: Submission[] } {
  const taken: Submission[] = []
  const port = {
    limits: { dataBytesMax: 1000, recipientCountMax: 10 },
    submit: (submission: Submission) => {
      taken.push(submission)
      return Promise.resolve({ id: 'q1' })
    },
  } as unknown as RelayDoor
  return { port, taken }
}

const mail = (...recipients: string[]): Submission => ({ sender: 'a@example.org', recipients, data: 'x' })

test('always_bcc adds a recipient of whom the sender gets no reports, once', async () => {
  const { port, taken } = door()
  let bcc: string | undefined = 'archive@example.net'
  const copied = withBcc(port, () => bcc)
  await copied.submit(mail('one@example.net'))
  await copied.submit(mail('archive@example.net', 'one@example.net'))
  bcc = undefined
  await copied.submit(mail('one@example.net'))
  expect(taken.map(({ recipients }) => recipients)).toEqual([
    ['one@example.net', { address: 'archive@example.net', notify: 'never' }],
    ['archive@example.net', 'one@example.net'],
    ['one@example.net'],
  ])
})

test('of mail that came another way into the queue nothing is kept for the log', async () => {
  const lines: object[] = []
  const log = pino({ base: null }, { write: (line) => void lines.push(JSON.parse(line) as object) })
  const events = new EventEmitter<QueueEvents>()
  const { port } = door()
  const queue = Object.assign(events, port) as unknown as Parameters<typeof withLoggedClients>[0]
  const logged = withLoggedClients(queue, log)
  const accepted = { id: 'q1', sender: 'a@example.org', recipientCount: 1, dataBytes: 17 }
  const submit = logged.submit(mail('one@example.net'))
  events.emit('accepted', accepted as QueueEvents['accepted'][0])
  await submit
  events.emit('accepted', accepted as QueueEvents['accepted'][0])
  await new Promise(setImmediate)
  await logged.submit(mail('one@example.net'))
  expect(lines.map((line) => ('dataBytes' in line ? line.dataBytes : 'none'))).toEqual([17, 'none'])
})
