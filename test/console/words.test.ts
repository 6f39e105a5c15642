import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { DestinationState, Operation } from '../../src/console/facts/api.js'
import { bytesText, spanText } from '../../src/console/facts/format.js'
import {
  dueText,
  isSuspendedText,
  laneTitle,
  limitText,
  reasonText,
  stateText,
  suspendedText,
} from '../../src/console/facts/mail-words.js'
import type { DestinationSnapshot } from '../../src/index.js'
import { bytesText as commandBytesText, durationText } from '../../tools/commands/text/shown-text.js'
import {
  limitText as commandLimitText,
  stateText as commandStateText,
} from '../../tools/commands/watch/destinations.js'
import { helpOf } from '../../src/console/facts/help.js'
import { resultSentences, verbs, verbWords } from '../../src/console/facts/verbs.js'

const operation: Operation = {
  id: 'op_1',
  do: 'delete',
  selector: { all: true },
  dryRun: false,
  by: 'ada',
  startedAt: 0,
  endedAt: 1,
  state: 'done',
  counts: { messageCount: 2, recipientCount: 3, missedCount: 0, failedCount: 0 },
  problem: null,
}

test('a result is exact, and says what was not done', () => {
  expect(resultSentences(operation)).toEqual(['Deleted 2 messages with 3 recipients.'])
  const counts = { messageCount: 1, recipientCount: 1, missedCount: 2, failedCount: 1 }
  expect(resultSentences({ ...operation, state: 'stopped', counts })).toEqual([
    'Deleted 1 message with 1 recipient.',
    'Stopped before the end: what was done stays done.',
    '2 messages had ended or moved on before.',
    '1 message could not be read.',
  ])
})

test('what nothing undoes is known as such', () => {
  expect(verbs.filter((verb) => verbWords[verb].isFinal)).toEqual(['expire', 'delete'])
})

test('a reason has its status once, and the server before its reply', () => {
  expect(reasonText({ status: '4.2.1', text: '451 4.2.1 busy', remote: 'mx.example.net' })).toBe(
    'mx.example.net: 451 4.2.1 busy',
  )
  expect(reasonText({ status: '4.4.1', text: 'timed out', remote: null })).toBe('4.4.1 timed out')
})

test('a message, a lane and a destination say when they go on', () => {
  expect(dueText({ queue: 'hold', dueAt: null }, 0)).toBe('when released')
  expect(dueText({ queue: 'active', dueAt: 0 }, 9)).toBe('under way')
  expect(dueText({ queue: 'deferred', dueAt: 300_000 }, 0)).toBe('in 5m')
  expect(laneTitle({ queue: 'deferred', intervalMs: 300_000 })).toBe('deferred, 5m')
  expect(laneTitle({ queue: 'hold', intervalMs: null })).toBe('hold')
  expect(stateText({ kind: 'suspended', untilAt: 60_000, order: null }, 'none', 0)).toBe('suspended, 1m')
  expect(stateText({ kind: 'ready' }, 'canary', 0)).toBe('canary')
  const order = { transport: 'smtp', nexthop: null }
  expect(stateText({ kind: 'suspended', untilAt: null, order }, 'none', 0)).toBe('suspended')
  expect(suspendedText(order)).toBe('by an operator: all of smtp')
  expect(suspendedText({ transport: null, nexthop: 'x.example' })).toBe('by an operator: by every transport')
  expect(suspendedText({ transport: 'smtp', nexthop: 'x.example' })).toBe('by an operator')
  expect(isSuspendedText('x.example', '2h')).toBe('x.example is suspended for 2h. Mail for it is kept.')
})

test('the console and the command say the same of spans, amounts and destinations', () => {
  for (const kind of ['nexthop', 'tag', 'reply', 'order'] as const) {
    const limit = { kind, name: 'news', count: 600, perMs: 60_000 }
    expect(limitText({ ...limit, untilAt: 0 })).toBe(commandLimitText({ ...limit, untilMs: 0 }))
  }
  for (const ms of [0, 1, 999, 1000, 59_999, 60_000, 3_999_000, 86_400_000, 442_800_000])
    expect(spanText(ms)).toBe(durationText(ms))
  for (const bytes of [0, 1023, 1024, 10_239, 1_500_000, 3 * 2 ** 40])
    expect(bytesText(bytes).replaceAll('\u202f', ' ')).toBe(commandBytesText(bytes))
  for (const recovery of ['none', 'canary', 'slow-start'] as const)
    for (const kind of ['ready', 'dead', 'suspended'] as const) {
      const reason = { status: '4.4.1', text: 'timed out' }
      const snapshot = {
        state: { kind, untilMs: 90_000, reason },
        recovery,
      } as unknown as DestinationSnapshot
      const state = { kind, untilAt: 90_000 } as DestinationState
      expect(stateText(state, recovery, 0)).toBe(commandStateText(snapshot, 0))
    }
})

test('help has a title that reads, and leads to a section that is there', () => {
  expect(helpOf('tools/commands/OPERATING.md#dead-destinations')).toEqual({
    href: '/help/tools/commands/OPERATING.md#dead-destinations',
    title: 'Operating a queue, \u201cdead destinations\u201d',
  })
  const source = readFileSync('src/http/figures/problems.ts', 'utf8')
  const pages = Object.fromEntries(
    [...source.matchAll(/const (\w+Page) = '([^']+)'/g)].map((m) => [m[1], m[2]]),
  )
  const places = [...source.matchAll(/\$\{(\w+Page)\}#([\w-]+)`/g)]
  expect(places.length).toBeGreaterThan(8)
  for (const [, page = '', heading = ''] of places) {
    const text = readFileSync(String(pages[page]), 'utf8').toLowerCase()
    expect(text).toContain(`\n## ${heading.replaceAll('-', ' ')}\n`)
  }
})
