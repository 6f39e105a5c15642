import { expect, test } from 'vitest'
import type { Conversation } from '../../src/console/facts/api.js'
import { exchangesOf, folded, isRefusal } from '../../src/console/facts/conversation.js'

const lines: Conversation['lines'] = [
  { by: 'server', text: '220 mx' },
  { by: 'client', text: 'MAIL', command: 1 },
  { by: 'client', text: 'RCPT', command: 2 },
  { by: 'server', text: '250 ok', command: 1 },
  { by: 'server', text: '550 none', command: 2 },
  { by: 'server', text: '250 left alone', command: 9 },
]

test('each reply stands with its command, and one without a command by itself', () => {
  expect(exchangesOf(lines)).toEqual([
    { command: undefined, replies: ['220 mx'], isRefused: false },
    { command: 'MAIL', replies: ['250 ok'], isRefused: false },
    { command: 'RCPT', replies: ['550 none'], isRefused: true },
    { command: undefined, replies: ['250 left alone'], isRefused: false },
  ])
})

test('of two replies to one command the one that refuses is marked', () => {
  expect(['354 go on', '451 4.3.0 later'].map(isRefusal)).toEqual([false, true])
})

test('of more than twenty the ones between are folded, and none is lost', () => {
  const exchanges = exchangesOf(
    Array.from({ length: 50 }, (_, i) => ({ by: 'client' as const, text: String(i), command: i + 1 })),
  )
  const [first, between, last] = folded(exchanges)
  expect([first.length, between.length, last.length]).toEqual([10, 30, 10])
  expect([...first, ...between, ...last]).toEqual(exchanges)
  expect(folded(exchanges.slice(0, 20))).toEqual([exchanges.slice(0, 20), [], []])
})
