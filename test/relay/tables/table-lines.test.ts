/** What is a line of a table. */
import { expect, test } from 'vitest'
import { tableLines } from '../../../src/relay/tables/table-lines.js'

test('blank lines and comments say nothing, and the others keep their number', () => {
  const lines = [...tableLines('# a\r\n\n  a b\n  # c\nd', 'routes', 'file')]
  expect(lines).toEqual([
    { text: '  a b', place: { option: 'routes', path: 'file', line: 3 } },
    { text: 'd', place: { option: 'routes', path: 'file', line: 5 } },
  ])
})

test('a line that no table has is refused before anybody looks what it says', () => {
  expect([...tableLines('x'.repeat(4096), 'dkim', 'file')]).toHaveLength(1)
  expect(() => [...tableLines(`a\n${'x'.repeat(4097)}`, 'dkim', 'file')]).toThrow(
    expect.objectContaining({ code: 'OPTION_INVALID', place: { option: 'dkim', path: 'file', line: 2 } }),
  )
})
