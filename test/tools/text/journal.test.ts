/** Priorities of lines in systemd's journal. */
import { closeSync, fstatSync, openSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { asError, isJournal, withPriority } from '../../../tools/commands/text/journal.js'

test.each([
  [60, '<2>'],
  [50, '<3>'],
  [40, '<4>'],
  [30, ''],
  [20, '<7>'],
])('a line of level %i begins with %j', (level, priority) => {
  const shown = withPriority((json) => json.toUpperCase())
  expect(shown(`{"level":${level},"msg":"x <4>"}`)).toBe(`${priority}{"LEVEL":${level},"MSG":"X <4>"}`)
})

test('each line of what says why a command ends has the priority of an error', () => {
  expect(asError('waybill: no\nway out\n', true)).toBe('<3>waybill: no\n<3>way out\n')
  expect(asError('waybill: no\n', false)).toBe('waybill: no\n')
})

test('standard error is the journal where it is the very file that systemd has named', () => {
  const descriptor = openSync('/dev/null', 'r')
  onTestFinished(() => closeSync(descriptor))
  const { dev, ino } = fstatSync(descriptor)
  expect(isJournal(descriptor, `${dev}:${ino}`)).toBe(true)
  // The unit's, when the relay's standard error is redirected.
  expect(isJournal(descriptor, `${dev}:${ino + 1}`)).toBe(false)
  expect(isJournal(descriptor, undefined)).toBe(false)
})
