import { expect, test } from 'vitest'
import { RunningCount } from '../../../tools/commands/text/progress.js'
import type { Surroundings } from '../../../tools/commands/text/output.js'

const counts = (messageCount: number): Parameters<RunningCount['show']>[0] => ({
  messageCount,
  recipientCount: messageCount,
  missedCount: 0,
  failedCount: 0,
})

/** What is said on standard error, and a clock to turn. */
function said(complainsToTerminal: boolean): {
  running: RunningCount
  lines: string[]
  clock: { ms: number }
} {
  const lines: string[] = []
  const clock = { ms: 0 }
  const surroundings = {
    complainsToTerminal,
    complain: (text: string) => lines.push(text),
    nowMs: () => clock.ms,
  }
  return { running: new RunningCount(surroundings as unknown as Surroundings, 'held'), lines, clock }
}

test('on a terminal the count runs in one line, ten times a second, and is wiped at the end', () => {
  const { running, lines, clock } = said(true)
  running.show(counts(1))
  clock.ms = 50
  running.show(counts(500))
  clock.ms = 100
  running.show(counts(1234))
  running.end()
  expect(lines).toEqual(['\r\x1b[K1 message held …', '\r\x1b[K1 234 messages held …', '\r\x1b[K'])
})

test('elsewhere nothing is said, and the count is known all the same', () => {
  const { running, lines } = said(false)
  running.show(counts(7))
  running.end()
  expect(lines).toEqual([])
  expect(running.messageCount).toBe(7)
})
