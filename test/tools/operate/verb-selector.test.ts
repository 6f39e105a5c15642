import { expect, test } from 'vitest'
import { parseArguments } from '../../../tools/commands/cli/command.js'
import { hold } from '../../../tools/commands/operate/hold.js'
import { selectorsOf } from '../../../tools/commands/operate/verb-selector.js'

const selected = (...args: string[]): ReturnType<typeof selectorsOf> =>
  selectorsOf(parseArguments(hold, args))
const id = '0123456789ABCDEF'

test('every option becomes the member of its name', () => {
  expect(
    selected(
      '--sender=a@b',
      '--recipient=c@d',
      '--domain=d',
      '--nexthop=mx',
      '--lane=deferred',
      '--older-than=2d',
      '--last-status=4.4',
    ),
  ).toEqual([
    {
      sender: 'a@b',
      recipient: 'c@d',
      domain: 'd',
      nexthop: 'mx',
      lane: 'deferred',
      olderThan: 2 * 86_400_000,
      lastStatus: '4.4',
    },
  ])
})

test('a lane may be a number, and the null sender is written <>', () => {
  expect(selected('--lane', '7', '--sender', '<>')).toEqual([{ lane: 7, sender: '' }])
})

test('ids make one selector each, in either place, once, in upper case', () => {
  const report = `${id}-3`
  expect(selected(id.toLowerCase(), '--id', report, id, '--lane', 'hold')).toEqual([
    { id: report, lane: 'hold' },
    { id, lane: 'hold' },
  ])
})

test('everything is meant only when it is said', () => {
  expect(selected('--all')).toEqual([{ all: true }])
  expect(() => selected()).toThrow(/no message is selected/)
})

test.each([
  [['--all', '--sender', 'a@b'], /not both/],
  [['--all', id], /not both/],
  [['nonsense'], /'nonsense' is no message id/],
  [['--id', ''], /is no message id/],
  // Of a script whose variable was not set: the null sender is written <>.
  [['--sender', ''], /--sender has an empty value/],
  [['--domain', '', '--lane', 'hold'], /--domain has an empty value/],
  [['--lane', 'fast'], /is no lane/],
  [['--older-than', '2 days'], /--older-than takes a duration/],
  [['--last-status', '9'], /--last-status takes a status/],
  [['--last-status', '4.4.'], /--last-status takes a status/],
  [['--sender', 'a@b', '--sender', 'c@d'], /--sender is given twice/],
  [['--fast'], /unknown option/],
])('hold %j is refused', (args, reason) => {
  expect(() => selected(...args)).toThrow(reason)
})
