/** What stands at the relay's door, before a queue that only remembers. */
import { expect, test } from 'vitest'
import type { Submission } from '../../../src/index.js'
import { withBcc, type RelayDoor } from '../../../tools/commands/door/door.js'

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

test('always_bcc adds a recipient once, and the sender gets no reports of it', async () => {
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
