import { expect, test } from 'vitest'
import type { HistoryRecord } from '../../src/console/facts/api.js'
import { stepOf } from '../../src/console/facts/history.js'

const record = (kind: string, fields: Readonly<Record<string, unknown>>, lane = 0): HistoryRecord => ({
  at: 0,
  log: 'journal',
  position: 0,
  kind,
  lane,
  fields,
})
const envelope = { id: 'M', sender: 'a@example.com', recipientCount: 2, dataBytes: 10 }
const failed = { kind: 'failed', status: '5.1.1', text: '550 5.1.1 no such user', ranges: [0, 1] }

test.each<[HistoryRecord, string, string[]]>([
  [
    record('envelope', { ...envelope, attempts: 0 }),
    'Accepted',
    ['from a@example.com for 2 recipients, 10 bytes'],
  ],
  [
    record('envelope', { ...envelope, attempts: 2 }, 3),
    'Waits after 2 attempts',
    ['from a@example.com for 2 recipients, 10 bytes'],
  ],
  [
    record('envelope', { ...envelope, attempts: 2 }, 1),
    'On hold',
    ['from a@example.com for 2 recipients, 10 bytes'],
  ],
  [
    record('envelope', { ...envelope, id: 'M-1', sender: '' }),
    'Report',
    ['from <> (a report) for 2 recipients, 10 bytes'],
  ],
  [record('start', { outOfOrder: true }), 'Attempt', ['before its time']],
  [record('start', { carried: { start: 1 } }), 'Resumed', ['after a restart, or after a long wait']],
  [
    record('delivery', { notes: [failed], finishes: true }),
    'Failed',
    ['failed for 2 recipients: 550 5.1.1 no such user', 'nothing is left to do'],
  ],
  [
    record('delivery', { notes: [{ kind: 'delivered', status: '', text: '', ranges: [3, 3] }] }),
    'Delivered',
    ['delivered for 1 recipient'],
  ],
  [record('finish', { reported: [0, 1] }), 'Finished', ['2 recipients reported to the sender']],
  [record('unheard', {}), 'unheard', []],
])('a record is a step in words: %#', (one, title, lines) => {
  expect(stepOf(one, 'M')).toMatchObject({ title, lines })
})

test('an envelope that a start in its group names as a new place was not accepted again', () => {
  const moved = { ...record('envelope', { ...envelope, attempts: 0 }), position: 4096 }
  const fields = { envelope: 4096, envelopeBytes: 120, carried: { start: 1 } }
  const start = { ...record('start', fields), position: 4216 }
  const titles = [start, { ...start, position: 8192 }, undefined].map(
    (next) => stepOf(moved, 'M', next).title,
  )
  expect(titles).toEqual(['Written anew', 'Accepted', 'Accepted'])
})
