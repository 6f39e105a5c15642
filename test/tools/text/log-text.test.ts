import { expect, test } from 'vitest'
import { logText } from '../../../tools/commands/text/log-text.js'

const time = new Date(2026, 10, 25, 9, 8, 7).getTime()
const shown = (line: object): string => logText(JSON.stringify({ level: 30, time, ...line }))

test.each([
  [
    'a delivery',
    {
      msg: 'delivered',
      id: 'I1',
      sender: 'ada@example.org',
      recipients: ['grace@example.net'],
      transport: 'smtp',
      nexthop: 'example.net',
      status: '2.0.0',
      text: 'ok',
      remote: 'mx.example.net[192.0.2.1]:25',
      tls: { version: 'TLSv1.3' },
      attempt: 2,
      delayMs: 61_000,
      dataBytes: 2048,
    },
    '09:08:07 delivered I1 from ada@example.org to grace@example.net at mx.example.net[192.0.2.1]:25 TLSv1.3 attempt 2 after 1m1s 2.0 KiB 2.0.0 ok',
  ],
  [
    'a message that was taken',
    {
      msg: 'accepted',
      id: 'I1',
      client: { address: '192.0.2.7', helo: 'x', user: 'ada' },
      sender: '',
      recipientCount: 2,
      dataBytes: 5,
    },
    '09:08:07 accepted I1 from MAILER-DAEMON for 2 recipients by 192.0.2.7 (ada) 5 bytes',
  ],
  ['a warning', { level: 40, code: 'DISK_FULL', message: 'no room' }, '09:08:07 warning: DISK_FULL no room'],
  [
    'what has no name here',
    { msg: 'read', files: [{ option: 'auth' }] },
    '09:08:07 read files [{"option":"auth"}]',
  ],
  ['a hostile reply', { msg: 'deferred', text: 'a\x1b[2J\u009bb\nc' }, '09:08:07 deferred a?[2J?b?c'],
])('%s is one line for people', (_, line, text) => {
  expect(shown(line)).toBe(text)
})
